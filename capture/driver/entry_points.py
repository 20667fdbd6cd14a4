"""Entry points of the CUDA driver as C functions.

Reading a node takes a handful of driver calls of a few tens of nanoseconds each, so what Python
adds to a call decides what reading costs. Objects of a binding cost 0.3 to 1 us a call and as
much again for each field; here C functions run over all handles (:mod:`capture.driver.many`),
each call writes into its own part of one buffer, and :mod:`struct` unpacks that in one go.

The functions are asked for by name and version (``cuGetProcAddress``), so what they take does
not depend on the release of cuda-bindings.

Short calls that only read keep the interpreter lock: letting go of it thousands of times, for a
tenth of a microsecond each, hands it to every busy thread of the script and makes reading tens
of times slower. Keeping it is safe as long as no thread can hold one of the driver's locks and
wait for the interpreter, which takes a callback in Python from inside the driver: CUPTI's. With
``cupti`` loaded the lock is released around each call, as it always is around other calls.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import DriverError, NotSupportedError
from .many import each

INVALID_VALUE = 1
NOT_SUPPORTED = 801

P = ctypes.c_void_p
I = ctypes.c_int  # noqa: E741 - one letter per C type keeps the table below readable
U = ctypes.c_uint

BASE_VERSION = 12030
"""From this CUDA version on, edges carry data; the product needs such a driver."""

# What each function takes, and the CUDA version that it is asked for when that is not
# BASE_VERSION. Signatures are those of cuda.h.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuCtxGetCurrent": (P,),
    "cuCtxGetDevice": (P,),
    "cuCtxSynchronize": (),
    "cuDeviceGet": (P, I),
    "cuDeviceGetAttribute": (P, I, I),
    "cuDeviceGetCount": (P,),
    "cuDeviceGetName": (P, I, I),
    "cuDeviceTotalMem": (P, I),
    "cuDriverGetVersion": (P,),
    "cuEventCreate": (P, U),
    "cuEventDestroy": (P,),
    "cuEventElapsedTime": (P, P, P),
    "cuEventQuery": (P,),
    "cuEventRecord": (P, P),
    "cuFuncGetAttribute": (P, I, P),
    "cuFuncGetName": (P, P),
    "cuFuncGetParamInfo": (P, ctypes.c_size_t, P, P),
    "cuGetErrorName": (I, P),
    "cuGetErrorString": (I, P),
    "cuGraphAddDependencies": (P, P, P, P, ctypes.c_size_t),
    "cuGraphAddKernelNode": (P, P, P, ctypes.c_size_t, P),
    "cuGraphAddMemcpyNode": (P, P, P, ctypes.c_size_t, P, P),
    "cuGraphAddMemsetNode": (P, P, P, ctypes.c_size_t, P, P),
    "cuGraphBatchMemOpNodeGetParams": (P, P),
    "cuGraphChildGraphNodeGetGraph": (P, P),
    "cuGraphClone": (P, P),
    "cuGraphCreate": (P, U),
    "cuGraphDebugDotPrint": (P, ctypes.c_char_p, U),
    "cuGraphDestroy": (P,),
    "cuGraphDestroyNode": (P,),
    "cuGraphEventRecordNodeGetEvent": (P, P),
    "cuGraphEventWaitNodeGetEvent": (P, P),
    "cuGraphExecDestroy": (P,),
    "cuGraphExecUpdate": (P, P, P),
    "cuGraphExternalSemaphoresSignalNodeGetParams": (P, P),
    "cuGraphExternalSemaphoresWaitNodeGetParams": (P, P),
    "cuGraphGetEdges": (P, P, P, P, P),
    "cuGraphGetNodes": (P, P, P),
    "cuGraphHostNodeGetParams": (P, P),
    "cuGraphInstantiateWithFlags": (P, P, ctypes.c_uint64),
    "cuGraphKernelNodeCopyAttributes": (P, P),
    "cuGraphKernelNodeGetAttribute": (P, I, P),
    "cuGraphKernelNodeGetParams": (P, P),
    "cuGraphLaunch": (P, P),
    "cuGraphMemAllocNodeGetParams": (P, P),
    "cuGraphMemcpyNodeGetParams": (P, P),
    "cuGraphMemFreeNodeGetParams": (P, P),
    "cuGraphMemsetNodeGetParams": (P, P),
    "cuGraphNodeFindInClone": (P, P, P),
    "cuGraphNodeGetDependencies": (P, P, P, P),
    "cuGraphNodeGetEnabled": (P, P, P),
    "cuGraphNodeGetParams": (P, P),
    "cuGraphNodeGetType": (P, P),
    "cuGraphNodeSetEnabled": (P, P, U),
    "cuGraphUpload": (P, P),
    "cuKernelGetFunction": (P, P),
    "cuMemAlloc": (P, ctypes.c_size_t),
    "cuMemcpyAsync": (P, P, ctypes.c_size_t, P),
    "cuMemFree": (P,),
    "cuMemFreeHost": (P,),
    "cuMemGetInfo": (P, P),
    "cuMemHostAlloc": (P, ctypes.c_size_t, U),
    "cuMemsetD8Async": (P, ctypes.c_ubyte, ctypes.c_size_t, P),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (P, P, I, ctypes.c_size_t),
    "cuPointerGetAttribute": (P, I, P),
    "cuStreamCreate": (P, U),
    "cuStreamDestroy": (P,),
    "cuStreamGetCaptureInfo": (P, P, P, P, P, P, P),
    "cuStreamSynchronize": (P,),
    "cuStreamWaitValue32": (P, P, ctypes.c_uint32, U),
    "cuThreadExchangeStreamCaptureMode": (P,),
}
VERSIONS = {"cuFuncGetParamInfo": 12040, "cuGraphNodeGetParams": 13020}


class EntryPoints:
    """The driver's functions, looked up when they are first used.

    Parameters
    ----------
    find : callable
        ``find(name, version)`` returns the address of a driver function, 0 when the driver has
        none.
    """

    def __init__(self, find: Callable[[str, int], int]) -> None:
        self._find = find
        self._functions: dict[str, Callable[..., int]] = {}
        self._readers: dict[tuple[str, bool], Callable[..., int]] = {}

    def get(self, name: str) -> Callable[..., int]:
        """Return a driver function that returns its ``CUresult``.

        Raises
        ------
        NotSupportedError
            The driver does not have it.
        """
        function = self._functions.get(name)
        if function is None:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *SIGNATURES[name])
            function = self._functions[name] = prototype(self._address(name))
        return function

    def _address(self, name: str) -> int:
        version = VERSIONS.get(name, BASE_VERSION)
        address = self._find(name, version)
        if not address:
            raise NotSupportedError(
                name,
                NOT_SUPPORTED,
                "CUDA_ERROR_NOT_SUPPORTED",
                f"this driver does not have it: it came with CUDA {version // 1000}."
                f"{version % 1000 // 10}",
            )
        return address

    def reader(self, name: str) -> Callable[..., int]:
        """Return a function that only reads, and is quick about it, in the form for many calls."""
        keep_lock = "cupti" not in sys.modules
        function = self._readers.get((name, keep_lock))
        if function is None:
            make = ctypes.PYFUNCTYPE if keep_lock else ctypes.CFUNCTYPE
            prototype = make(ctypes.c_int, *SIGNATURES[name])
            function = self._readers[name, keep_lock] = prototype(self._address(name))
        return function

    def own_reader(self, name: str) -> Callable[..., int]:
        """Return a reader that takes ctypes objects and None as they are, and checks none."""
        function: Any = self.reader(name)
        found = type(function)(self._address(name))
        found.argtypes = ()
        own: Callable[..., int] = found
        return own

    def has(self, name: str) -> bool:
        """Say whether the driver has a function."""
        try:
            self.get(name)
        except NotSupportedError:
            return False
        return True

    def check(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises
        ------
        DriverError
            It answered with an error.
        """
        self._raise(name, self.get(name)(*arguments))

    def read(self, name: str, *arguments: Any) -> None:
        """Call a function that only reads and is quick about it.

        Raises
        ------
        DriverError
            It answered with an error.
        """
        self._raise(name, self.reader(name)(*arguments))

    def _raise(self, name: str, code: int) -> None:
        if code:
            raise self.error(name, code)

    def error(self, call: str, code: int) -> DriverError:
        """Return the error of a ``CUresult``, with the driver's own words."""
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            refused = self.get(name)(code, ctypes.byref(text))
            texts.append("" if refused or not text.value else text.value.decode(errors="replace"))
        kind = NotSupportedError if code == NOT_SUPPORTED else DriverError
        return kind(call, code, texts[0] or f"CUresult {code}", texts[1])

    def each(
        self, name: str, nodes: Sequence[int], size: int
    ) -> tuple[bytes, dict[int, DriverError]]:
        """Call ``name(node, output)`` for every node.

        Parameters
        ----------
        size : int
            Bytes of one output.

        Returns
        -------
        outputs : bytes
            ``len(nodes) * size`` of them.
        refused : dict of int to DriverError
        """
        outputs, results = each(self.reader(name), nodes, size)
        return outputs, self.failures(name, results)

    def failures(self, name: str, results: list[int]) -> dict[int, DriverError]:
        """Return the errors among results, by index."""
        if not any(results):
            return {}
        known = {code: self.error(name, code) for code in set(results) if code}
        return {index: known[code] for index, code in enumerate(results) if code}
