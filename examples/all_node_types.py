"""One graph with every node type that needs no other API, built node by node.

Nothing is captured here: the driver's ``cuGraphAdd...Node`` calls build the graph, so each kind
of node can be seen beside the call that makes it: memset, kernel, memcpy, mem alloc, mem free,
child graph, empty, event record, wait event, batch mem op, host, and the conditionals IF (with
an else body), WHILE (three iterations) and SWITCH (three bodies). External semaphores are
missing: they come from Vulkan or another API.

``build()`` returns the raw ``CUgraph`` handle; ``main()`` instantiates and launches it twice and
checks what every node did. Needs ``cuda-bindings`` 13 and a driver of CUDA 12.8 or newer.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from cuda.bindings import driver, nvrtc

COUNT, THREADS, LAUNCHES = 1024, 256, 2
WHILE_ITERATIONS, CHOSEN_CASE, MEM_OP_VALUE = 3, 2, 7
# Slots of the array of flags, in which the nodes leave what they did.
FLAG_IF, FLAG_WHILE, FLAG_SWITCH, FLAG_MEM_OP = range(4)

# cudaGraphSetConditional exists on the device only. NVRTC has no header for it, so it is
# declared here; the driver provides it when the module is loaded.
SOURCE = b"""
extern "C" __device__ __cudart_builtin__ void CUDARTAPI cudaGraphSetConditional(
    cudaGraphConditionalHandle handle, unsigned int value);

extern "C" __global__ void fill(float *out, int count, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = value;
}

extern "C" __global__ void scale(const float *in, float *out, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] * factor;
}

extern "C" __global__ void set_flag(int *flags, int slot, int value) {
    flags[slot] = value;
}

extern "C" __global__ void choose(cudaGraphConditionalHandle branch,
                                  cudaGraphConditionalHandle selector, unsigned int chosen) {
    cudaGraphSetConditional(branch, 0);
    cudaGraphSetConditional(selector, chosen);
}

extern "C" __global__ void count_up(cudaGraphConditionalHandle loop, int *flags, int slot,
                                    int iterations) {
    flags[slot] += 1;
    cudaGraphSetConditional(loop, flags[slot] < iterations);
}
"""

host_calls = 0
# The graph refers to these by address only, so they have to live as long as it does.
buffers: dict[str, torch.Tensor] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def on_host(_user_data: int | None) -> None:
    """Count the launches; runs on a thread of the driver and must not call CUDA."""
    global host_calls
    host_calls += 1


def checked(answer: tuple[Any, ...]) -> Any:
    """Return what a CUDA call returned, or raise if it failed."""
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"CUDA call answered {status!r}")
    return values[0] if len(values) == 1 else tuple(values)


def load_kernels() -> dict[str, Any]:
    """Compile SOURCE for this GPU and return its kernels by name."""
    major, minor = torch.cuda.get_device_capability()
    program = checked(nvrtc.nvrtcCreateProgram(SOURCE, b"nodes.cu", 0, [], []))
    options = [f"--gpu-architecture=sm_{major}{minor}".encode()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(log.decode())
    cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, cubin))
    module = checked(driver.cuModuleLoadData(cubin))
    names = ("fill", "scale", "set_flag", "choose", "count_up")
    return {name: checked(driver.cuModuleGetFunction(module, name.encode())) for name in names}


def add_kernel(
    graph: Any, after: list[Any], kernel: Any, arguments: list[Any], threads: int = 1
) -> Any:
    """Add a kernel node; `arguments` are ctypes values, `threads` the number of them to run."""
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
    params = driver.CUDA_KERNEL_NODE_PARAMS()
    params.func = kernel
    params.gridDimX = -(-threads // THREADS)
    params.gridDimY = params.gridDimZ = 1
    params.blockDimX = min(threads, THREADS)
    params.blockDimY = params.blockDimZ = 1
    params.kernelParams = ctypes.addressof(pointers)
    # The values behind the pointers are copied by this call.
    return checked(driver.cuGraphAddKernelNode(graph, after, len(after), params))


def add_memset(graph: Any, after: list[Any], context: Any, target: torch.Tensor) -> Any:
    """Add a node that sets the four-byte elements of `target` to zero."""
    params = driver.CUDA_MEMSET_NODE_PARAMS()
    params.dst = driver.CUdeviceptr(target.data_ptr())
    params.value, params.elementSize = 0, 4
    params.width, params.height, params.pitch = target.numel(), 1, 0
    return checked(driver.cuGraphAddMemsetNode(graph, after, len(after), params, context))


def add_memcpy(
    graph: Any, after: list[Any], context: Any, source: int, target: torch.Tensor
) -> Any:
    """Add a node that copies from device address `source` to `target`, on device or host."""
    types = driver.CUmemorytype
    params = driver.CUDA_MEMCPY3D()
    params.srcMemoryType = types.CU_MEMORYTYPE_DEVICE
    params.srcDevice = driver.CUdeviceptr(source)
    if target.is_cuda:
        params.dstMemoryType = types.CU_MEMORYTYPE_DEVICE
        params.dstDevice = driver.CUdeviceptr(target.data_ptr())
    else:
        params.dstMemoryType = types.CU_MEMORYTYPE_HOST
        params.dstHost = target.data_ptr()
    params.WidthInBytes = target.numel() * target.element_size()
    params.Height = params.Depth = 1
    return checked(driver.cuGraphAddMemcpyNode(graph, after, len(after), params, context))


def add_mem_alloc(graph: Any, after: list[Any], size_bytes: int) -> tuple[Any, int]:
    """Add a node that allocates on this device; return it and the address that it will have."""
    params = driver.CUDA_MEM_ALLOC_NODE_PARAMS()
    params.poolProps.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    params.poolProps.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    params.poolProps.location.id = torch.cuda.current_device()
    params.bytesize = size_bytes
    node = checked(driver.cuGraphAddMemAllocNode(graph, after, len(after), params))
    return node, int(params.dptr)


def add_host(graph: Any, after: list[Any]) -> Any:
    """Add a node that calls `on_host`."""
    params = driver.CUDA_HOST_NODE_PARAMS()
    params.fn = driver.CUhostFn(ctypes.cast(on_host, ctypes.c_void_p).value)
    params.userData = 0
    return checked(driver.cuGraphAddHostNode(graph, after, len(after), params))


def add_batch_mem_op(graph: Any, after: list[Any], context: Any, address: int) -> Any:
    """Add a node that writes 32 bits to `address`."""
    operation = driver.CUstreamBatchMemOpParams()
    kind = driver.CUstreamBatchMemOpType.CU_STREAM_MEM_OP_WRITE_VALUE_32
    operation.writeValue.operation = kind
    operation.writeValue.address = driver.CUdeviceptr(address)
    operation.writeValue.value = MEM_OP_VALUE
    operation.writeValue.flags = 0
    params = driver.CUDA_BATCH_MEM_OP_NODE_PARAMS()
    params.ctx, params.count, params.paramArray, params.flags = context, 1, [operation], 0
    return checked(driver.cuGraphAddBatchMemOpNode(graph, after, len(after), params))


def new_condition(graph: Any, context: Any, default: int) -> Any:
    """Return a condition that every launch sets to `default` before any node runs."""
    flags = driver.CU_GRAPH_COND_ASSIGN_DEFAULT
    return checked(driver.cuGraphConditionalHandleCreate(graph, context, default, flags))


def add_conditional(
    graph: Any, after: list[Any], context: Any, condition: Any, kind: Any, bodies: int
) -> tuple[Any, list[Any]]:
    """Add a conditional node; return it and its body graphs, which are still empty."""
    params = driver.CUgraphNodeParams()
    params.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    params.conditional.handle = condition
    params.conditional.type = kind
    params.conditional.size = bodies
    params.conditional.ctx = context
    node = checked(driver.cuGraphAddNode(graph, after, None, len(after), params))
    # The graphs belong to the node; their handles are read out of its array, by value.
    return node, [driver.CUgraph(int(body)) for body in params.conditional.phGraph_out]


def build() -> int:
    """Build the graph and return its raw ``CUgraph`` handle.

    The graph is a chain, except where a kernel of its own runs beside the child graph.
    """
    for name in ("source", "result", "beside"):
        buffers[name] = torch.zeros(COUNT, device="cuda")
    buffers["flags"] = torch.full((4,), -1, dtype=torch.int32, device="cuda")
    buffers["flags_on_host"] = torch.full((4,), -1, dtype=torch.int32, pin_memory=True)
    torch.cuda.synchronize()
    source, result, beside = (buffers[name].data_ptr() for name in ("source", "result", "beside"))
    flags = buffers["flags"].data_ptr()
    context = checked(driver.cuCtxGetCurrent())
    kernels = load_kernels()
    pointer, integer, number = ctypes.c_uint64, ctypes.c_int, ctypes.c_float

    def flag_kernel(graph: Any, after: list[Any], slot: int, value: int) -> Any:
        arguments = [pointer(flags), integer(slot), integer(value)]
        return add_kernel(graph, after, kernels["set_flag"], arguments)

    graph = checked(driver.cuGraphCreate(0))

    # Memset, kernel, allocation, kernel into it, copy out of it, free: result = 2 * 3.
    node = add_memset(graph, [], context, buffers["flags"])
    arguments = [pointer(source), integer(COUNT), number(3.0)]
    node = add_kernel(graph, [node], kernels["fill"], arguments, threads=COUNT)
    node, scratch = add_mem_alloc(graph, [node], 4 * COUNT)
    arguments = [pointer(source), pointer(scratch), integer(COUNT), number(2.0)]
    node = add_kernel(graph, [node], kernels["scale"], arguments, threads=COUNT)
    node = add_memcpy(graph, [node], context, scratch, buffers["result"])
    freed = checked(driver.cuGraphAddMemFreeNode(graph, [node], 1, driver.CUdeviceptr(scratch)))

    # A child graph of two kernels (result *= 10, source = result) and a kernel beside it, both
    # between the free node and an empty node that only joins them.
    child = checked(driver.cuGraphCreate(0))
    arguments = [pointer(result), pointer(result), integer(COUNT), number(10.0)]
    inner = add_kernel(child, [], kernels["scale"], arguments, threads=COUNT)
    arguments = [pointer(result), pointer(source), integer(COUNT), number(1.0)]
    add_kernel(child, [inner], kernels["scale"], arguments, threads=COUNT)
    child_node = checked(driver.cuGraphAddChildGraphNode(graph, [freed], 1, child))
    # The node holds a clone, so the graph that it was made of can go.
    checked(driver.cuGraphDestroy(child))
    arguments = [pointer(beside), integer(COUNT), number(1.0)]
    beside_node = add_kernel(graph, [freed], kernels["fill"], arguments, threads=COUNT)
    node = checked(driver.cuGraphAddEmptyNode(graph, [child_node, beside_node], 2))

    # An event that each launch records, and waits for.
    event = checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
    node = checked(driver.cuGraphAddEventRecordNode(graph, [node], 1, event))
    node = checked(driver.cuGraphAddEventWaitNode(graph, [node], 1, event))

    # Conditions: IF starts true and `choose` makes it false; SWITCH starts past its last body
    # and `choose` selects one; WHILE starts true and its own body ends it.
    kinds = driver.CUgraphConditionalNodeType
    branch, loop, selector = (new_condition(graph, context, default) for default in (1, 1, 3))
    arguments = [pointer(int(branch)), pointer(int(selector)), ctypes.c_uint(CHOSEN_CASE)]
    node = add_kernel(graph, [node], kernels["choose"], arguments)

    kind = kinds.CU_GRAPH_COND_TYPE_IF
    node, (then_body, else_body) = add_conditional(graph, [node], context, branch, kind, 2)
    flag_kernel(then_body, [], FLAG_IF, 1)
    flag_kernel(else_body, [], FLAG_IF, 2)

    kind = kinds.CU_GRAPH_COND_TYPE_WHILE
    node, (loop_body,) = add_conditional(graph, [node], context, loop, kind, 1)
    arguments = [pointer(result), pointer(result), integer(COUNT), number(0.5)]
    inner = add_kernel(loop_body, [], kernels["scale"], arguments, threads=COUNT)
    arguments = [pointer(int(loop)), pointer(flags), integer(FLAG_WHILE)]
    arguments.append(integer(WHILE_ITERATIONS))
    add_kernel(loop_body, [inner], kernels["count_up"], arguments)

    kind = kinds.CU_GRAPH_COND_TYPE_SWITCH
    node, cases = add_conditional(graph, [node], context, selector, kind, 3)
    for case, body in enumerate(cases):
        inner = flag_kernel(body, [], FLAG_SWITCH, 10 + case)
        add_memcpy(body, [inner], context, result, buffers["source"])

    # A write by the stream engine instead of a kernel, a copy to pinned memory, a call.
    node = add_batch_mem_op(graph, [node], context, flags + 4 * FLAG_MEM_OP)
    node = add_memcpy(graph, [node], context, flags, buffers["flags_on_host"])
    add_host(graph, [node])
    return int(graph)


def workload() -> int:
    """Return the graph: a script that captures nothing is recorded through this function."""
    return build()


def main() -> None:
    """Launch the graph twice and check what each node left behind."""
    graph = driver.CUgraph(build())
    executable = checked(driver.cuGraphInstantiate(graph, 0))
    stream = torch.cuda.Stream()
    for _ in range(LAUNCHES):
        checked(driver.cuGraphLaunch(executable, driver.CUstream(stream.cuda_stream)))
    stream.synchronize()

    expected = 3.0 * 2.0 * 10.0 * 0.5**WHILE_ITERATIONS
    for name, value in {"result": expected, "source": expected, "beside": 1.0}.items():
        assert buffers[name].eq(value).all(), name
    flags = buffers["flags_on_host"].tolist()
    assert flags == [2, WHILE_ITERATIONS, 10 + CHOSEN_CASE, MEM_OP_VALUE], flags
    assert host_calls == LAUNCHES, host_calls
    _, nodes = checked(driver.cuGraphGetNodes(graph))
    checked(driver.cuGraphExecDestroy(executable))
    checked(driver.cuGraphDestroy(graph))
    print(f"all_node_types: {nodes} nodes, {LAUNCHES} launches, else body, {flags[1]} iterations")


if __name__ == "__main__":
    main()
