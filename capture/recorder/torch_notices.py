"""What is noticed of a capture beside its nodes: torch's side of :mod:`capture.noticed`."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

import msgspec

from ..model import Graph, Place
from ..noticed import (
    HOST_OWNERS,
    HOST_RANDOM,
    RECORD_STREAM,
    ConstantSeed,
    Later,
    Noticed,
    RecordedStream,
)
from .host_owners import HostOwners, StateOf, Storages
from .left_out import user_place
from .noticing import Noticing as AnyNoticing
from .torch_origins_reading import hide_from_compiler
from .triton_seeds import SeedReader

MOST_KEPT = 64
"""Lines and launches of one kind that are kept of one capture."""
_METHOD = "record_stream"


class TorchStorages(Storages):
    """Tensors on the host."""

    def kind(self) -> type | None:
        """Return torch's class of tensors."""
        found = getattr(sys.modules.get("torch"), "Tensor", None)
        return found if isinstance(found, type) else None

    def span(self, item: Any) -> tuple[int, int]:
        """Return where the storage of a tensor on the host begins, and its bytes."""
        try:
            if item.device.type != "cpu":
                return 0, 0
            storage = item.untyped_storage()
            return storage.data_ptr(), storage.nbytes()
        except Exception:  # fake, sparse and wrapped tensors have no memory of their own
            return 0, 0

    def words(self, item: Any) -> str:
        """Describe a tensor by its type and shape."""
        shape = "x".join(map(str, item.shape)) or "scalar"
        return f"tensor {str(item.dtype).removeprefix('torch.')} {shape}"

    def expired(self, item: Any) -> Callable[[], bool]:
        """Return what says whether the storage is gone, which C++ may hold as well."""
        from torch.multiprocessing.reductions import StorageWeakRef

        reference: Any = StorageWeakRef(item.untyped_storage())  # type: ignore[no-untyped-call]
        return lambda: bool(reference.expired())


class Noticing:
    """One capture, between its begin and its end.

    Parameters
    ----------
    watch : Notices
    thread : int
        That captures.
    """

    def __init__(self, watch: Notices, thread: int) -> None:
        self.found = Noticed(watched=[RECORD_STREAM, HOST_RANDOM, HOST_OWNERS])
        self.thread = thread
        self._watch = watch
        self._streams: dict[tuple[str, str, int], RecordedStream] = {}
        self._random = random_states()

    def stop(self) -> None:
        """End: nothing that happens later is noticed."""
        if self not in self._watch.open:
            return
        with suppress(Exception):
            self._watch.close(self)
        self.found.record_streams = list(self._streams.values())
        after = random_states()
        self.found.host_random = [
            name for name, state in self._random.items() if after.get(name, state) != state
        ]

    def recorded(self, tensor: Any, stream: Any, frame: FrameType | None) -> None:
        """Note a call of ``record_stream``."""
        place = user_place(frame)
        handle = getattr(stream, "cuda_stream", None)
        name = f"{handle:#x}" if isinstance(handle, int) else ""
        key = name, place.file if place else "", place.line if place else 0
        size = tensor.untyped_storage().nbytes()
        known = self._streams.get(key)
        if known is not None:
            known.times += 1
            known.size_bytes += size
        elif len(self._streams) < MOST_KEPT:
            self._streams[key] = RecordedStream(stream=name, size_bytes=size, place=place)

    def launched(self, name: str, seed: tuple[str, int | float] | None, frame: Any) -> None:
        """Note a launch of a Triton kernel that draws random numbers."""
        launch = self.found.launches.get(name, 0)
        self.found.launches[name] = launch + 1
        if seed is not None and len(self.found.seeds) < MOST_KEPT:
            parameter, value = seed
            self.found.seeds.append(
                ConstantSeed(
                    kernel=name,
                    launch=launch,
                    parameter=parameter,
                    value=value,
                    place=user_place(frame),
                )
            )


class Notices:
    """What one process notices of its captures.

    Attributes
    ----------
    open : list of Noticing
        Captures that are going on.
    """

    def __init__(self) -> None:
        self.open: list[Noticing] = []
        self._owners = HostOwners(TorchStorages())
        self._seeds = SeedReader()
        self._taken: dict[int, Place | None] = {}
        self._hook: Any = None
        self._lock = threading.Lock()

    def begin(self) -> Noticing:
        """Begin with a capture of this thread."""
        noticing = Noticing(self, threading.get_ident())
        with self._lock:
            self.open.append(noticing)
            if self._hook is None:
                self._install()
        return noticing

    def close(self, noticing: Noticing) -> None:
        """End with a capture."""
        with self._lock:
            self.open.remove(noticing)
            if not self.open:
                self._remove()

    def _here(self) -> list[Noticing]:
        """Return the captures that a call on this thread belongs to."""
        found = list(self.open)
        here = [item for item in found if item.thread == threading.get_ident()]
        return here or (found if len(found) == 1 else [])

    def _install(self) -> None:
        tensor: Any = getattr(sys.modules.get("torch"), "Tensor", None)
        original = getattr(tensor, _METHOD, None)
        if original is None or _METHOD in vars(tensor):
            return  # another torch, or somebody else's patch

        @functools.wraps(original)
        def record_stream(self: Any, *args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):
                stream = args[0] if args else next(iter(kwargs.values()), None)
                for noticing in notices._here():
                    noticing.recorded(self, stream, sys._getframe(1))
            return original(self, *args, **kwargs)

        notices = self
        hide_from_compiler(record_stream)
        setattr(tensor, _METHOD, record_stream)
        self._hook = record_stream

    def _remove(self) -> None:
        hook, self._hook = self._hook, None
        tensor: Any = getattr(sys.modules.get("torch"), "Tensor", None)
        if hook is not None and vars(tensor).get(_METHOD) is hook:
            delattr(tensor, _METHOD)

    def launched(
        self, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], frame: Any
    ) -> None:
        """Note a launch of a Triton kernel; never raises."""
        with suppress(Exception):
            if kwargs.get("warmup") or not self._seeds.draws(kernel):
                return
            seed = self._seeds.constant(kernel, args, kwargs)
            for noticing in self._here():
                noticing.launched(kernel.fn.__name__, seed, frame)

    def find_owners(
        self, noticing: AnyNoticing, graph: Graph, holder: Any, serial: int, state: StateOf
    ) -> None:
        """Find who owns what a graph uses on the host; see :meth:`.HostOwners.find`."""
        owners, missing = self._owners.find(graph, holder, serial, state)
        noticing.found.owners = owners
        if missing:
            noticing.found.watched.remove(HOST_OWNERS)
            noticing.found.missing[HOST_OWNERS] = missing

    def taken(self, serial: int, frame: FrameType | None) -> None:
        """Note that the script took the handle of an executable."""
        self._taken.setdefault(serial, user_place(frame))

    def later(self, serials: set[int]) -> dict[int, dict[str, Any]]:
        """Return what became of graphs, as documents by their serial; most have none."""
        found = {}
        for serial in sorted(serials):
            gone = self._owners.gone(serial)
            if gone or serial in self._taken:
                noted = Later(executable_taken=self._taken.get(serial), owners=gone)
                found[serial] = msgspec.to_builtins(noted)
        return found

    def abandon(self) -> None:
        """Forget everything, in a forked child."""
        self._remove()
        self.open.clear()
        self._owners.abandon()
        self._taken.clear()
        self._lock = threading.Lock()


def random_states() -> dict[str, Any]:
    """Return the states of the host's random generators that are loaded, by name."""
    found: dict[str, Any] = {}
    with suppress(Exception):
        found["Python's random"] = sys.modules["random"].getstate()
    with suppress(Exception):
        state = sys.modules["numpy.random"].get_state(legacy=False)
        found["numpy.random"] = str(state["state"]["pos"]), state["state"]["key"].tobytes()
    with suppress(Exception):
        state = sys.modules["torch"].default_generator.get_state()
        found["torch's generator of the CPU"] = ctypes.string_at(state.data_ptr(), state.nbytes)
    return found


NOTICES = Notices()
