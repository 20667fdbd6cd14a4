"""CUPTI as C functions, taken from the library that is in the process already.

torch ships and loads its own ``libcupti``; a second copy of another version would not see the
same subscriptions. So the library is called directly through ctypes: no Python package of another
version has to fit it. Only calls that did not change between CUPTI 12.8 and 13.0 are used.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import MissingDependencyError, RecordingError
from .cupti_calls import (
    DRIVER_DOMAIN,
    LAUNCH_KERNEL,
    RESOURCE_DOMAIN,
    RUNTIME_DOMAIN,
    LaunchingCalls,
)
from .cupti_path import find_library
from .cupti_records import CONCURRENT_KERNEL, MEMCPY, MEMSET, Other, Record, RecordReader
from .late_interrupt import raise_later

NODE_CLONED = 20
MULTIPLE_SUBSCRIBERS = 39
_NO_PERMISSION = {
    35: "this user may not profile: ask the administrator to allow it "
    "(https://developer.nvidia.com/ERR_NVGPUCTRPERM), or use the recording without node timings",
    40: "this virtual GPU does not allow profiling: it has to be switched on in the hypervisor",
}

_OLDEST = 18
"""CUPTI_API_VERSION of CUDA 12.0: records carry graph_node_id in these places from there on."""

_LONG = struct.Struct("<Q")
_CALL = struct.Struct("<I60xI")

_REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)

BUFFER_BYTES = 4 << 20
MAX_BUFFERS = 64
"""At most 256 MiB of records wait to be read; past it CUPTI drops records, and counts them."""


class CuptiError(RecordingError):
    """CUPTI refused a call."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.code = code
        advice = _NO_PERMISSION.get(code, "")
        super().__init__(f"{call} answered {name} ({code}){': ' if advice else ''}{advice}")


class Cupti:
    """The calls of one ``libcupti``.

    Raises
    ------
    MissingDependencyError
        There is no such library, or it is older than CUDA 12.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or find_library()
        if path is None:
            raise MissingDependencyError(
                "no libcupti was found in this process or beside torch; node timings need the "
                "one that torch brings: install nvidia-cuda-cupti in the version of torch's CUDA"
            )
        try:
            self._library = ctypes.CDLL(str(path))
            get_version = self._library.cuptiGetVersion
        except (OSError, AttributeError) as error:
            raise MissingDependencyError(f"{path} cannot be used as CUPTI: {error}") from error
        version = ctypes.c_uint32()
        self._check("cuptiGetVersion", get_version(ctypes.byref(version)))
        self.version = version.value
        if self.version < _OLDEST:
            raise MissingDependencyError(
                f"{path} is CUPTI API version {self.version}; node timings need {_OLDEST} "
                f"(CUDA 12.0) or newer"
            )
        self.path = path
        self._subscriber = ctypes.c_void_p()
        self._buffers: dict[int, Any] = {}
        self._full: deque[tuple[Any, int]] = deque()
        self._caught = threading.local()
        self._reader = RecordReader(self._next_offset)
        self._calls = LaunchingCalls(self._enable_callback)
        self.dropped = 0
        self.problem = ""
        """The first thing that failed in a callback; empty while all is well."""

    def _check(self, call: str, code: int) -> None:
        if code:
            name = ctypes.c_char_p()
            self._library.cuptiGetResultString(code, ctypes.byref(name))
            raise CuptiError(call, code, (name.value or b"an unknown error").decode())

    def _callback(self, kind: Any, function: Callable[..., None]) -> Any:
        """Return a C function that stays for good and lets no exception into C.

        ctypes would print an exception on the user's terminal and forget it, Ctrl-C included.
        """

        def shielded(*arguments: Any) -> None:
            try:
                function(*arguments)
            except Exception as error:
                self.problem = self.problem or f"{type(error).__name__}: {error}"
            except BaseException as error:
                self._caught.interrupt = error

        made = kind(shielded)
        # CUPTI cannot be told to forget a function, and may call it until the process is gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        return made

    def take_interrupt(self) -> BaseException | None:
        """Return, once, what interrupted a callback on this thread, such as Ctrl-C."""
        found: BaseException | None = getattr(self._caught, "interrupt", None)
        self._caught.interrupt = None
        return found

    def _call(self, call: str, *arguments: Any) -> None:
        self._check(call, getattr(self._library, call)(*arguments))

    def subscribe(
        self,
        on_clone: Callable[[int, int], None],
        on_launch: Callable[[int], None] = lambda correlation: None,
    ) -> None:
        """Hear of every node that instantiate clones, and of calls that are watched.

        Parameters
        ----------
        on_clone : callable
            ``on_clone(original, clone)`` takes handles.
        on_launch : callable, optional
            ``on_launch(correlation)`` is called in the thread of the call, as it begins.

        Raises
        ------
        CuptiError
            Somebody else holds CUPTI (code 39), or it refuses for another reason.
        """
        read = struct.Struct("<QQQQ").unpack

        def callback(user: int, domain: int, number: int, data: int) -> None:
            if domain in (RUNTIME_DOMAIN, DRIVER_DOMAIN) and data:
                # CUpti_CallbackData: 0 where the call begins, 1 where it ends; its correlation.
                ends, correlation = _CALL.unpack(ctypes.string_at(data, _CALL.size))
                if not ends:
                    try:
                        on_launch(correlation)
                    except Exception:
                        raise
                    except BaseException as error:
                        # The script's own call: nobody asks for the interrupt after it.
                        raise_later(error)
                return
            if domain != RESOURCE_DOMAIN or number != NODE_CLONED or not data:
                return
            # CUpti_ResourceData: context, handle, descriptor -> CUpti_GraphData.
            descriptor = _LONG.unpack(ctypes.string_at(data + 16, 8))[0]
            _, _, node, original = read(ctypes.string_at(descriptor, 32))
            on_clone(original, node)

        function = self._callback(_CALLBACK, callback)
        self._call("cuptiSubscribe", ctypes.byref(self._subscriber), function, None)
        self._enable_callback(True, RESOURCE_DOMAIN, NODE_CLONED)

    def _enable_callback(self, wanted: bool, domain: int, number: int) -> None:
        self._call("cuptiEnableCallback", ctypes.c_uint32(wanted), self._subscriber, domain, number)

    def watch_calls(self, wanted: bool) -> None:
        """Start or stop hearing of every call that launches a kernel, a copy or a memset.

        Raises
        ------
        CuptiError
            This CUPTI does not call back for launches.
        """
        self._calls.watch(wanted, CuptiError)

    def watch_launches(self, wanted: bool) -> None:
        """Start or stop hearing of kernels that the runtime launches, and of nothing else.

        Raises
        ------
        CuptiError
            This CUPTI does not call back for launches.
        """
        self._enable_callback(wanted, RUNTIME_DOMAIN, LAUNCH_KERNEL)

    def unsubscribe(self) -> None:
        """Let go of the subscription, so that others can have it."""
        if self._subscriber:
            self._call("cuptiUnsubscribe", self._subscriber)
            self._subscriber = ctypes.c_void_p()

    def node_id(self, node: int) -> int:
        """Return the id that activity records carry for a node of an executable."""
        value = ctypes.c_uint64()
        self._call("cuptiGetGraphNodeId", ctypes.c_void_p(node), ctypes.byref(value))
        return value.value

    def register(self, on_full: Callable[[], None] | None = None) -> None:
        """Offer buffers for activity records.

        Parameters
        ----------
        on_full : callable, optional
            Called when a buffer comes back, on CUPTI's thread: it must not call CUPTI.
        """

        def requested(buffer: Any, size: Any, records: Any) -> None:
            # First what CUPTI finds if memory runs out below.
            records[0] = size[0] = 0
            buffer[0] = None
            if len(self._full) + len(self._buffers) >= MAX_BUFFERS:
                return
            memory = ctypes.create_string_buffer(BUFFER_BYTES + 8)
            address = _aligned(memory)
            self._buffers[address] = memory
            buffer[0] = address
            size[0] = BUFFER_BYTES

        def completed(context: int, stream: int, buffer: int, size: int, valid: int) -> None:
            memory = self._buffers.pop(buffer, None)
            lost = ctypes.c_size_t()
            if not self._library.cuptiActivityGetNumDroppedRecords(
                ctypes.c_void_p(context), ctypes.c_uint32(stream), ctypes.byref(lost)
            ):
                self.dropped += lost.value
            if memory is not None and valid:
                self._full.append((memory, valid))
            if on_full is not None:
                on_full()

        functions = self._callback(_REQUESTED, requested), self._callback(_COMPLETED, completed)
        self._call("cuptiActivityRegisterCallbacks", *functions)

    def enable(self) -> None:
        """Start writing records of kernels, copies and memsets."""
        for kind in (CONCURRENT_KERNEL, MEMCPY, MEMSET):
            self._call("cuptiActivityEnable", kind)

    def disable(self) -> None:
        """Stop writing records."""
        for kind in (CONCURRENT_KERNEL, MEMCPY, MEMSET):
            self._call("cuptiActivityDisable", kind)

    @property
    def waiting(self) -> int:
        """Buffers that were handed over and not read."""
        return len(self._full)

    def flush(self) -> None:
        """Make CUPTI hand over its buffers; the work has to be finished before."""
        self._call("cuptiActivityFlushAll", ctypes.c_uint32(1))

    def records(self) -> list[Record]:
        """Return and forget the records of nodes in the buffers that were handed over."""
        found: list[Record] = []
        while True:
            # One at a time: CUPTI's thread may add another meanwhile.
            try:
                memory, valid = self._full.popleft()
            except IndexError:
                return found
            found += self._reader.read(_aligned(memory), valid)

    def others(self) -> list[Other]:
        """Return and forget the records without a node among those that were read."""
        return self._reader.others()

    def _next_offset(self, base: int, valid: int, offset: int) -> int:
        record = ctypes.c_void_p(base + offset)
        step = self._library.cuptiActivityGetNextRecord
        if step(ctypes.c_void_p(base), ctypes.c_size_t(valid), ctypes.byref(record)):
            return 0
        return int(record.value or 0) - base


def _aligned(memory: Any) -> int:
    """Return the first address of a buffer that CUPTI can write records to."""
    return (ctypes.addressof(memory) + 7) & ~7
