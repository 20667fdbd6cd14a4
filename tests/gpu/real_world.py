"""Builds declared graphs on the real driver through cuda.bindings 13."""

from __future__ import annotations

import ctypes
from typing import Any

from capture.driver.cuda_bindings import CudaDriver
from capture.model import Graph, Kernel
from capture.nodes.batch_mem_op import OPERATIONS
from capture.nodes.host import symbol_of
from capture.nodes.kernel import KernelPayload
from capture.nodes.memcpy import MEMORY_TYPES, MemcpyEnd
from tests.gpu.device_runtime import SOURCES as DEVICE_RUNTIME
from tests.gpu.device_runtime import linked_module
from tests.gpu.real_attributes import set_attributes
from tests.helpers.fake_driver import number_of
from tests.workloads.chains import (
    architecture_of_current_device,
    checked,
    compile_cubin,
    ensure_context,
)

SOURCE = b"""
extern "C" __global__ void tiny(float *out, int index, float value) {
    out[index] += value;
}
struct Block { float *to; char tag; double scale; int words[3]; };
extern "C" __global__ void structs(char first, Block block, short last) {
    if (first == 77) block.to[0] = block.scale + block.tag + block.words[2] + last;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void tinier(float *out, int index, float value) {
    out[index] -= value;
}
extern "C" __global__ void spills() {
    volatile int many[4096];
    for (int at = 0; at < 4096; at++) many[at] = at;
}
extern "C" __global__ void shares() {
    __shared__ volatile float shared[256];
    shared[threadIdx.x % 256] = 1;
}
extern "C" __global__ void set_conditional(unsigned long long handle, unsigned value) {
    cudaGraphSetConditional(handle, value);
}
"""
PORTABLE = SOURCE[: SOURCE.index(b'extern "C" __global__ void set_conditional')]
KINDS = {"if": 0, "while": 1, "switch": 2}


class RealWorld:
    """A context with a kernel, buffers, an event and a host function."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self.cuda = cuda = driver
        self.driver = CudaDriver()
        self.context = ensure_context()
        self._linked: dict[str, Any] = {}
        architecture = architecture_of_current_device()
        self._module = checked(cuda.cuModuleLoadData(compile_cubin(PORTABLE, architecture)))
        self._function = self.function_named("tiny")
        self.function = int(self._function)
        self.kernel: Kernel = self.driver.function(self.function, 0).kernel
        self.buffer = int(checked(cuda.cuMemAlloc(4096)))
        self.other_buffer = int(checked(cuda.cuMemAlloc(4096)))
        self.host_buffer = int(checked(cuda.cuMemAllocHost(4096)))
        self._event = checked(cuda.cuEventCreate(0))
        self.event = int(self._event)
        libc = ctypes.CDLL(None)
        self._other_event = checked(cuda.cuEventCreate(0))
        self.other_event = int(self._other_event)
        flags = cuda.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value
        self.managed_buffer = int(checked(cuda.cuMemAllocManaged(4096, flags)))
        description = cuda.CUDA_ARRAY_DESCRIPTOR()
        description.Format = cuda.CUarray_format.CU_AD_FORMAT_FLOAT
        description.Width, description.Height, description.NumChannels = 64, 0, 1
        self.array = int(checked(cuda.cuArrayCreate(description)))
        self.other_host_function = ctypes.cast(libc.abs, ctypes.c_void_p).value or 0
        self.host_function = ctypes.cast(libc.free, ctypes.c_void_p).value or 0
        self.host_symbol = symbol_of(self.host_function)
        self._keep: list[Any] = []

    def function_named(self, name: str) -> Any:
        """Return a function of the module, or one that calls the device runtime."""
        if name in DEVICE_RUNTIME:
            module = self._linked.get(name)
            if module is None:
                architecture = architecture_of_current_device()
                module = self._linked[name] = linked_module(name, architecture)
            return checked(self.cuda.cuModuleGetFunction(module, name.encode()))
        return checked(self.cuda.cuModuleGetFunction(self._module, name.encode()))

    def kernel_named(self, name: str) -> Kernel:
        """Return what the driver says of a function of the module."""
        return self.driver.function(int(self.function_named(name)), 0).kernel

    def occupancy(self, threads: int) -> int:
        return int(
            checked(
                self.cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(self._function, threads, 0)
            )
        )

    def build(self, graph: Graph) -> int:
        handle = checked(self.cuda.cuGraphCreate(0))
        self.fill(handle, graph)
        return int(handle)

    def fill(self, handle: Any, graph: Graph) -> None:
        """Add a declared graph's nodes and edges to a graph."""
        cuda = self.cuda
        edges = list(graph.edges())
        frees = {at for at, type_ in enumerate(graph.topology.types) if type_ == "mem_free"}
        nodes: list[Any] = []
        for position in range(len(graph)):
            before = [nodes[edge.source] for edge in edges if edge.target == position in frees]
            nodes.append(self.add(handle, graph, position, before))
        # The driver wants a free after its allocation from the start, so its edges are there.
        edges = [edge for edge in edges if edge.target not in frees]
        # Edges that carry data are added one by one, see test_edges_keep_ports_and_type.
        plain = [edge for edge in edges if not (edge.from_port or edge.to_port or edge.type)]
        groups = [plain, *([edge] for edge in edges if edge not in plain)]
        for group in filter(None, groups):
            data = []
            for edge in group:
                item = cuda.CUgraphEdgeData()
                item.from_port, item.to_port = edge.from_port, edge.to_port
                item.type = edge.type
                data.append(item)
            checked(
                cuda.cuGraphAddDependencies(
                    handle,
                    [nodes[edge.source] for edge in group],
                    [nodes[edge.target] for edge in group],
                    data,
                    len(group),
                )
            )

    def add(self, handle: Any, graph: Graph, position: int, before: list[Any]) -> Any:
        """Add one declared node; `before` are predecessors that it must have from the start."""
        type_ = graph.topology.types[position]
        method = getattr(self, f"_add_{type_}")
        payload = graph.payloads[position]
        bodies = [body.graph for body in graph.bodies_of(position)]
        if before:
            return method(handle, payload, before)
        return method(handle, payload, bodies) if bodies else method(handle, payload)

    def _add_kernel(self, handle: Any, payload: KernelPayload) -> Any:
        assert payload.kernel is not None
        assert payload.arguments is not None
        assert payload.grid is not None
        assert payload.block is not None
        params = self.cuda.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.function_named(payload.kernel.name)
        params.gridDimX, params.gridDimY, params.gridDimZ = payload.grid
        params.blockDimX, params.blockDimY, params.blockDimZ = payload.block
        params.sharedMemBytes = payload.dynamic_shared_bytes or 0
        buffer = ctypes.create_string_buffer(payload.arguments, max(1, len(payload.arguments)))
        base = ctypes.addressof(buffer)
        layout = payload.kernel.parameters or []
        size = ctypes.c_size_t(len(payload.arguments))
        if payload.arguments_packed:
            words = (1, base, 2, ctypes.addressof(size), 0)
            extra = (ctypes.c_void_p * 5)(*words)
            params.extra = ctypes.addressof(extra)
        elif layout:
            pointers = (ctypes.c_void_p * len(layout))(*(base + offset for offset, _ in layout))
            params.kernelParams = ctypes.addressof(pointers)
        node = checked(self.cuda.cuGraphAddKernelNode(handle, None, 0, params))
        set_attributes(self.cuda, node, payload)
        return node

    def _add_memcpy(self, handle: Any, payload: Any) -> Any:
        copy = self.cuda.CUDA_MEMCPY3D()
        for prefix, end in (("src", payload.source), ("dst", payload.destination)):
            self._end(copy, prefix, end)
        copy.WidthInBytes = payload.width_bytes
        copy.Height, copy.Depth = payload.height, payload.depth
        return checked(self.cuda.cuGraphAddMemcpyNode(handle, None, 0, copy, self.context))

    def _end(self, copy: Any, prefix: str, end: MemcpyEnd) -> None:
        number = number_of(MEMORY_TYPES, end.memory_type)
        setattr(copy, f"{prefix}MemoryType", self.cuda.CUmemorytype(number))
        field = {"host": "Host", "array": "Array"}.get(end.memory_type, "Device")
        handle = self.cuda.CUarray(end.array_handle or 0) if field == "Array" else end.address
        setattr(copy, f"{prefix}{field}", handle)
        for name, value in (
            ("XInBytes", end.x_bytes),
            ("Y", end.y),
            ("Z", end.z),
            ("Pitch", end.pitch_bytes),
            ("Height", end.height),
        ):
            setattr(copy, f"{prefix}{name}", value)

    def _add_memset(self, handle: Any, payload: Any) -> Any:
        params = self.cuda.CUDA_MEMSET_NODE_PARAMS()
        params.dst, params.pitch, params.value = payload.address, payload.pitch_bytes, payload.value
        params.elementSize, params.width, params.height = (
            payload.element_bytes,
            payload.width,
            payload.height,
        )
        return checked(self.cuda.cuGraphAddMemsetNode(handle, None, 0, params, self.context))

    def _add_host(self, handle: Any, payload: Any) -> Any:
        params = self.cuda.CUDA_HOST_NODE_PARAMS()
        params.fn = self.cuda.CUhostFn(payload.function_address)
        params.userData = payload.user_data_address
        return checked(self.cuda.cuGraphAddHostNode(handle, None, 0, params))

    def _add_empty(self, handle: Any, payload: None) -> Any:
        return checked(self.cuda.cuGraphAddEmptyNode(handle, None, 0))

    def _add_event_record(self, handle: Any, payload: Any) -> Any:
        event = self.cuda.CUevent(payload.event_handle)
        return checked(self.cuda.cuGraphAddEventRecordNode(handle, None, 0, event))

    def _add_wait_event(self, handle: Any, payload: Any) -> Any:
        event = self.cuda.CUevent(payload.event_handle)
        return checked(self.cuda.cuGraphAddEventWaitNode(handle, None, 0, event))

    def _add_child_graph(self, handle: Any, payload: None, bodies: list[Graph]) -> Any:
        # The driver embeds a clone, so the child is built first.
        child = self.cuda.CUgraph(self.build(bodies[0]))
        return checked(self.cuda.cuGraphAddChildGraphNode(handle, None, 0, child))

    def _add_mem_alloc(self, handle: Any, payload: Any) -> Any:
        params = self.cuda.CUDA_MEM_ALLOC_NODE_PARAMS()
        params.poolProps.allocType = self.cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        location = params.poolProps.location
        location.type = self.cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = payload.location_id
        params.bytesize = payload.size_bytes
        node = checked(self.cuda.cuGraphAddMemAllocNode(handle, None, 0, params))
        self.allocated = int(checked(self.cuda.cuGraphMemAllocNodeGetParams(node)).dptr)
        return node

    def _add_mem_free(self, handle: Any, payload: Any, before: list[Any]) -> Any:
        address = self.cuda.CUdeviceptr(self.allocated)
        return checked(self.cuda.cuGraphAddMemFreeNode(handle, before, len(before), address))

    def _add_batch_mem_op(self, handle: Any, payload: Any) -> Any:
        items = []
        for fields in payload.operations:
            item = self.cuda.CUstreamBatchMemOpParams()
            number = number_of(OPERATIONS, fields["operation"])
            operation = self.cuda.CUstreamBatchMemOpType(number)
            item.operation = operation
            part = item.waitValue if "wait" in fields["operation"] else item.writeValue
            part.operation = operation
            part.address = fields["address"]
            if fields["operation"].endswith("64"):
                part.value64 = fields["value"]
            else:
                part.value = fields["value"]
            part.flags = fields["flags"]
            items.append(item)
        params = self.cuda.CUDA_BATCH_MEM_OP_NODE_PARAMS()
        params.ctx = self.cuda.CUcontext(self.context)
        params.count, params.paramArray, params.flags = len(items), items, payload.flags
        return checked(self.cuda.cuGraphAddBatchMemOpNode(handle, None, 0, params))

    def _add_conditional(self, handle: Any, payload: Any, bodies: list[Graph]) -> Any:
        cuda = self.cuda
        # The driver numbers conditional handles itself; the declared one is what it gave.
        conditional = checked(
            cuda.cuGraphConditionalHandleCreate(handle, cuda.CUcontext(self.context), 0, 0)
        )
        payload.conditional_handle = int(conditional)
        params = cuda.CUgraphNodeParams()
        params.type = cuda.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        params.conditional.handle = conditional
        params.conditional.type = cuda.CUgraphConditionalNodeType(KINDS[payload.kind])
        params.conditional.size = len(bodies)
        params.conditional.ctx = cuda.CUcontext(self.context)
        node = checked(cuda.cuGraphAddNode(handle, None, None, 0, params))
        for inner, body in zip(params.conditional.phGraph_out, bodies, strict=True):
            self.fill(inner, body)
        return node
