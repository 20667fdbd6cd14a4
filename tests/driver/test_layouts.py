"""Our structure layouts against those of cuda-bindings, which come from cuda.h."""

from __future__ import annotations

import ctypes
import importlib
import struct
from typing import Any

import pytest

from capture.driver import kernels, launch_attributes, node_calls, records

cuda: Any = importlib.import_module("cuda.bindings.driver")


def unpacked(layout: struct.Struct, item: Any) -> tuple[Any, ...]:
    return layout.unpack(ctypes.string_at(int(item.getPtr()), layout.size))


def test_kernel_node() -> None:
    item = cuda.CUDA_KERNEL_NODE_PARAMS()
    item.gridDimX, item.gridDimY, item.gridDimZ = 1, 2, 3
    item.blockDimX, item.blockDimY, item.blockDimZ = 4, 5, 6
    item.sharedMemBytes, item.kernelParams, item.extra = 7, 0x99, 0x1234
    expected = (0, 1, 2, 3, 4, 5, 6, 7, 0x99, 0x1234, 0, 0)
    assert unpacked(kernels._LAUNCH, item) == expected


def test_memcpy_node() -> None:
    item = cuda.CUDA_MEMCPY3D()
    numbers = iter(range(1, 30))
    for side in ("src", "dst"):
        for name in ("XInBytes", "Y", "Z", "LOD"):
            setattr(item, side + name, next(numbers))
        setattr(item, f"{side}MemoryType", cuda.CUmemorytype(2))
        setattr(item, f"{side}Device", 0xABC)
        setattr(item, f"{side}Pitch", next(numbers))
        setattr(item, f"{side}Height", next(numbers))
    item.WidthInBytes, item.Height, item.Depth = 20, 21, 22
    found = records.Memcpy._make(unpacked(node_calls._MEMCPY, item))
    assert found[:5] == (1, 2, 3, 4, 2)
    assert found[6] == 0xABC
    assert found[8:15] == (5, 6, 7, 8, 9, 10, 2)
    assert found[16] == 0xABC
    assert found[18:] == (11, 12, 20, 21, 22)


def test_memset_node() -> None:
    item = cuda.CUDA_MEMSET_NODE_PARAMS()
    item.dst, item.pitch, item.value, item.elementSize, item.width, item.height = range(1, 7)
    assert unpacked(node_calls._MEMSET, item) == (1, 2, 3, 4, 5, 6)


def test_host_node() -> None:
    item = cuda.CUDA_HOST_NODE_PARAMS()
    item.fn, item.userData = cuda.CUhostFn(0x77), 0x1234
    assert unpacked(node_calls._PAIR, item) == (0x77, 0x1234)


def test_mem_alloc_node() -> None:
    item = cuda.CUDA_MEM_ALLOC_NODE_PARAMS()
    item.poolProps.allocType = cuda.CUmemAllocationType(1)
    item.poolProps.handleTypes = cuda.CUmemAllocationHandleType(8)
    item.poolProps.location.type = cuda.CUmemLocationType(1)
    item.poolProps.location.id = 3
    item.bytesize = 99
    access = cuda.CUmemAccessDesc()
    access.location.type = cuda.CUmemLocationType(1)
    access.location.id = 2
    access.flags = cuda.CUmemAccess_flags(3)
    item.accessDescs, item.accessDescCount = [access], 1
    found = node_calls._allocation(unpacked(node_calls._ALLOCATION, item))
    assert found == (1, 8, 1, 3, [(1, 2, 3)], 99, 0)


@pytest.mark.parametrize("operation", [1, 2, 4, 5])
def test_batch_mem_op_node(operation: int) -> None:
    item = cuda.CUstreamBatchMemOpParams()
    item.operation = cuda.CUstreamBatchMemOpType(operation)
    part = item.waitValue if operation in (1, 4) else item.writeValue
    part.address, part.flags, part.alias = 0x123456789, 3, 5
    if operation > 2:
        part.value64 = 1 << 40
    else:
        part.value = 77
    params = cuda.CUDA_BATCH_MEM_OP_NODE_PARAMS()
    params.count, params.paramArray, params.flags = 1, [item], 9
    found = node_calls._operations(unpacked(node_calls._BATCH, params))
    assert found.flags == 9
    assert found.operations == [
        {
            "operation": operation,
            "address": 0x123456789,
            "value": 1 << 40 if operation > 2 else 77,
            "flags": 3,
        }
    ]


def test_external_semaphores() -> None:
    wait = cuda.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS()
    wait.params.fence.value, wait.params.keyedMutex.key = 5, 9
    wait.params.keyedMutex.timeoutMs, wait.flags = 100, 3
    params = cuda.CUDA_EXT_SEM_WAIT_NODE_PARAMS()
    params.paramsArray, params.numExtSems = [wait], 1
    handle = cuda.CUexternalSemaphore(0xABC0)
    params.extSemArray = [handle]
    row = unpacked(node_calls._SEMAPHORES, params)
    fields = ("fence_value", "nv_sci_sync", "key", "timeout_ms")
    found = node_calls._semaphores(row, fields, "<3QI")
    assert found.handles == [0xABC0]
    assert found.parameters == [
        {"fence_value": 5, "nv_sci_sync": 0, "key": 9, "timeout_ms": 100, "flags": 3}
    ]


def test_conditional_node() -> None:
    item = cuda.CUgraphNodeParams()
    item.type = cuda.CUgraphNodeType(13)
    item.conditional.handle = cuda.CUgraphConditionalHandle(4)
    item.conditional.type = cuda.CUgraphConditionalNodeType(2)
    item.conditional.size = 3
    assert unpacked(node_calls._CONDITIONAL, item) == (4, 2, 3, 0)


@pytest.mark.parametrize("number", sorted(launch_attributes._ATTRIBUTES))
def test_launch_attribute_names(number: int) -> None:
    try:
        name = cuda.CUlaunchAttributeID(number).name
    except ValueError:
        pytest.skip("this release of cuda-bindings does not know the attribute")
    assert name == f"CU_LAUNCH_ATTRIBUTE_{launch_attributes._ATTRIBUTES[number].name.upper()}"


def test_launch_attribute_values() -> None:
    value = cuda.CUlaunchAttributeValue()
    window = value.accessPolicyWindow
    window.base_ptr, window.num_bytes, window.hitRatio = 0x40, 128, 0.5
    window.hitProp, window.missProp = cuda.CUaccessProperty(2), cuda.CUaccessProperty(1)
    raw = ctypes.string_at(int(value.getPtr()), 64)
    layout = launch_attributes._ATTRIBUTES[1].layout
    assert struct.unpack_from(layout, raw) == (0x40, 128, 0.5, 2, 1)
    value = cuda.CUlaunchAttributeValue()
    value.deviceUpdatableKernelNode.deviceUpdatable = 1
    value.deviceUpdatableKernelNode.devNode = cuda.CUgraphDeviceNode(0x77)
    raw = ctypes.string_at(int(value.getPtr()), 64)
    assert struct.unpack_from(launch_attributes._ATTRIBUTES[13].layout, raw) == (1, 0x77)
