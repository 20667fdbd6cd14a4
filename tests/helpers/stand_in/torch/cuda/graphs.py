"""Graphs, captured into the fake driver."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import torch

_pools = count(1)
_functions: dict[str, int] = {}


def _world() -> Any:
    from cuda.bindings import driver

    return driver.world()


def _model() -> Any:
    """Return the modules that the fake driver is made of, whatever name they are loaded under."""
    from importlib import import_module

    home = type(_world()).build.__globals__["Graph"].__module__.partition(".")[0]
    return import_module(f"{home}.model"), import_module(f"{home}.nodes.kernel")


class _Capturing:
    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.work: list[Callable[[], None]] = []
        self.valid = True


_captures: dict[int, _Capturing] = {}


def submit(kernel: str, work: Callable[[], None], arguments: bytes = bytes(8)) -> None:
    """Run work on the current stream, or capture it."""
    stream = torch.cuda.current_stream().cuda_stream
    capturing = _captures.get(stream)
    if capturing is None:
        work()
        return
    world = _world()
    model, kernels = _model()
    graph, nodes = world._graphs[capturing.handle]
    function = _functions.setdefault(kernel, 0x900000 + 0x100 * len(_functions))
    described = world._functions.setdefault(
        function,
        model.Kernel(
            name=kernel,
            registers=16,
            static_shared_bytes=0,
            local_bytes=0,
            constant_bytes=0,
            max_threads_per_block=1024,
            ptx_version=90,
            binary_version=90,
            parameters=[(0, 8)],
        ),
    )
    if nodes:
        graph.topology.source.append(len(nodes) - 1)
        graph.topology.target.append(len(nodes))
    graph.topology.types.append("kernel")
    graph.payloads.append(
        kernels.KernelPayload(
            kernel=described,
            grid=(4, 1, 1),
            block=(128, 1, 1),
            dynamic_shared_bytes=0,
            cooperative=False,
            priority=0,
            arguments=arguments,
            function_handle=function,
        )
    )
    node = next(world._handles)
    world._nodes[node] = capturing.handle, len(nodes)
    world._bodies[node] = []
    nodes.append(node)
    capturing.work.append(work)
    capturing.work.append(lambda: _world().ran(kernel))


def synchronize() -> None:
    """Wait for everything, which invalidates whatever is being captured."""
    for stream, capturing in _captures.items():
        if capturing.valid:
            capturing.valid = False
            world = _world()
            world.captures[stream] = world.captures[stream]._replace(status=2, graph=0)
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")


def graph_pool_handle() -> tuple[int, int]:
    return 0, next(_pools)


class _CUDAGraph:
    """What is C++ in torch."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._keep = keep_graph
        self._stream = -1
        self._work: list[Callable[[], None]] | None = None
        self._handle = 0
        self._instantiated = False
        self._pool = (0, 0)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        if self._work is not None:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph.")
        world = _world()
        model, _ = _model()
        handle = world.build(model.Graph(topology=model.Topology(types=[]), payloads=[]))
        self._stream = torch.cuda.current_stream().cuda_stream
        world.begin_capture(self._stream, handle)
        _captures[self._stream] = _Capturing(handle)
        self._pool = pool or graph_pool_handle()

    def capture_end(self) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        if stream != self._stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        capturing = _captures.pop(stream)
        world = _world()
        del world.captures[stream]
        if not capturing.valid:
            world.destroy(capturing.handle)
            raise RuntimeError(
                "CUDA error: operation failed due to a previous error during capture"
            )
        self._work = capturing.work
        if self._keep:
            self._handle = capturing.handle
        else:
            world.destroy(capturing.handle)
            self._instantiated = True

    def instantiate(self) -> None:
        self._instantiated = True

    def replay(self) -> None:
        if self._work is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._instantiated = True
        for work in self._work:
            work()

    def reset(self) -> None:
        self._work = None
        self._instantiated = False
        self._handle = 0

    def pool(self) -> tuple[int, int]:
        if self._work is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def raw_cuda_graph(self) -> int:
        if not self._keep:
            raise RuntimeError("You cannot access the raw cudaGraph_t instance")
        return self._handle


class CUDAGraph(_CUDAGraph):
    """What is Python in torch."""

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        super().capture_begin(pool=pool, capture_error_mode=capture_error_mode)

    def capture_end(self) -> None:
        super().capture_end()

    def instantiate(self) -> None:
        super().instantiate()

    def replay(self) -> None:
        """Replay the work captured by this graph."""
        super().replay()

    def reset(self) -> None:
        super().reset()


class graph:  # noqa: N801
    """Capture the block, as torch does it."""

    default_capture_stream: Any = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = torch.cuda.Stream()
        self.pool = () if pool is None else (pool,)
        self.stream_ctx = torch.cuda.stream(stream or graph.default_capture_stream)
        self.cuda_graph = cuda_graph
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        torch.cuda.synchronize()
        self.stream_ctx.__enter__()
        self.cuda_graph.capture_begin(*self.pool, capture_error_mode=self.capture_error_mode)

    def __exit__(self, *args: Any) -> None:
        self.cuda_graph.capture_end()
        self.stream_ctx.__exit__(*args)


def make_graphed_callables(function: Callable[[], Any]) -> Callable[[], Any]:
    """Capture a forward and a backward."""
    fwd_graph, bwd_graph = CUDAGraph(), CUDAGraph()
    pool = graph_pool_handle()
    with graph(fwd_graph, pool=pool):
        result = function()
    with graph(bwd_graph, pool=pool):
        function()

    def graphed() -> Any:
        fwd_graph.replay()
        bwd_graph.replay()
        return result

    return graphed
