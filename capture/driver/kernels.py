"""Calls about kernel nodes and their functions."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from operator import or_
from typing import Any

from ..errors import DriverError, NotSupportedError
from ..model import Kernel
from .argument_bytes import read_arguments
from .entry_points import INVALID_VALUE, EntryPoints
from .many import each
from .records import Classified, Function, LaunchRow, Layout

_PARAMS, _TYPE = "cuGraphKernelNodeGetParams", "cuGraphNodeGetType"
_KERNEL = 0
_LAUNCH = struct.Struct("<Q7I4x4Q")
_LAUNCH_WORDS = _LAUNCH.size // 8
_KERNEL_WORD = 7

# CUfunction_attribute of each field of a Kernel.
_FUNCTION_ATTRIBUTES = {
    "max_threads_per_block": 0,
    "static_shared_bytes": 1,
    "constant_bytes": 2,
    "local_bytes": 3,
    "registers": 4,
    "ptx_version": 5,
    "binary_version": 6,
}


class KernelCalls:
    """The part of :class:`~capture.driver.protocol.Driver` about kernel nodes."""

    entry: EntryPoints

    def classify(self, nodes: Sequence[int]) -> Classified:
        """See :meth:`capture.driver.protocol.Driver.classify`."""
        outputs, results = each(self.entry.reader(_PARAMS), nodes, _LAUNCH.size)
        types: list[int | None] = [_KERNEL] * len(nodes)
        rows = _LAUNCH.iter_unpack(outputs)
        words = array("Q", outputs)
        functions = words[::_LAUNCH_WORDS]
        if 0 not in functions and not any(results):
            return Classified(types, rows, {})
        # cuda.h does not say which error nodes that are no kernels get, nor that they get one:
        # only an answer that names a function is taken for a launch without asking for the type.
        named = map(or_, functions, words[_KERNEL_WORD::_LAUNCH_WORDS])
        unsure = [
            index
            for index, (result, name) in enumerate(zip(results, named, strict=True))
            if result or not name
        ]
        asked, failures = self.entry.each(_TYPE, [nodes[index] for index in unsure], 4)
        refused: dict[int, DriverError] = {}
        errors: dict[int, DriverError] = {}
        for at, (index, number) in enumerate(zip(unsure, array("i", asked), strict=True)):
            if at in failures:
                types[index], refused[index] = None, failures[at]
            else:
                types[index], code = number, results[index]
                if number == _KERNEL and code:
                    if code not in errors:
                        errors[code] = self.entry.error(_PARAMS, code)
                    refused[index] = errors[code]
        launches = (
            None if result else row
            for row, number, result in zip(rows, types, results, strict=True)
            if number == _KERNEL
        )
        return Classified(types, launches, refused)

    def function(self, function: int, kernel: int) -> Function:
        """See :meth:`capture.driver.protocol.Driver.function`."""
        handle = function or self._function_of(kernel)
        try:
            name = self._function_name(handle)
        except DriverError:
            # A CUkernel may stand where a CUfunction is asked for; not every call takes it.
            handle = self._function_of(kernel or function)
            name = self._function_name(handle)
        value = ctypes.c_int()
        output = ctypes.byref(value)
        ask = self.entry.reader("cuFuncGetAttribute")
        numbers: dict[str, Any] = {
            field: value.value
            for field, number in _FUNCTION_ATTRIBUTES.items()
            if not ask(output, number, handle)
        }
        return Function(handle, Kernel(name=name, parameters=self._layout(handle), **numbers))

    def _function_of(self, kernel: int) -> int:
        handle = ctypes.c_void_p()
        self.entry.read("cuKernelGetFunction", ctypes.byref(handle), kernel)
        return handle.value or 0

    def _function_name(self, handle: int) -> str:
        name = ctypes.c_char_p()
        self.entry.read("cuFuncGetName", ctypes.byref(name), handle)
        return (name.value or b"").decode(errors="replace")

    def _layout(self, handle: int) -> Layout | None:
        try:
            ask = self.entry.reader("cuFuncGetParamInfo")
        except NotSupportedError:
            return None
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        outputs = ctypes.byref(offset), ctypes.byref(size)
        layout: Layout = []
        while True:
            code = ask(handle, len(layout), *outputs)
            if code == INVALID_VALUE:
                return layout
            if code:
                return None
            layout.append((offset.value, size.value))

    def occupancy(self, function: int, threads: int, dynamic_shared_bytes: int) -> int:
        """See :meth:`capture.driver.protocol.Driver.occupancy`."""
        blocks = ctypes.c_int()
        self.entry.read(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            function,
            threads,
            dynamic_shared_bytes,
        )
        return blocks.value

    def arguments(
        self, launches: Sequence[LaunchRow], layouts: Sequence[Layout | None]
    ) -> list[bytes | None]:
        """See :meth:`capture.driver.protocol.Driver.arguments`."""
        return read_arguments(launches, layouts)
