"""Stand-ins for ``torch.cuda``: one GPU that is there, holds nothing and does nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from . import torch_ready_legacy, torch_ready_memory, torch_ready_streams
from .ready_log import Log
from .ready_streams import HOST_WAITS, WAIT_OUTSIDE, World

GPU = SimpleNamespace(
    name="no GPU (dry run)",
    major=9,
    minor=0,
    total_memory=80 << 30,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=50 << 20,
    is_integrated=False,
    is_multi_gpu_board=False,
    gcnArchName="",
    uuid="",
)
"""What the script is told about its GPU; the numbers are those of an H100."""


def install(log: Log, world: World) -> None:
    """Put the stand-ins into ``torch.cuda``, for the rest of this process."""
    names = {
        **_constants(),
        **torch_ready_memory.names(),
        **torch_ready_legacy.names(),
        **torch_ready_streams.names(world),
        **_waiting(log),
        **_random(log),
    }
    cuda: Any = torch.cuda
    for module in (cuda, cuda.streams, cuda.memory, cuda.random, cuda.graphs, cuda.profiler):
        for name, value in names.items():
            if module is cuda or hasattr(module, name):
                setattr(module, name, value)
    _accelerator(names)
    cuda._lazy_init = cuda.init = lambda: None
    cuda.nvtx._nvtx = _Nothing()
    cuda.nccl.version = lambda: (2, 28, 9)
    torch.compiler.cudagraph_mark_step_begin = lambda: None
    cuda.default_generators = (torch.default_generator,)
    torch.Generator = _generator(world)  # type: ignore[misc]
    _optimizers(log)


def _accelerator(names: dict[str, Any]) -> None:
    """Let ``torch.accelerator`` say the same, where this version has it."""
    accelerator: Any = getattr(torch, "accelerator", None)
    same = {
        "current_device_index": "current_device",
        "current_device_idx": "current_device",
        "set_device_index": "set_device",
        "set_device_idx": "set_device",
        "device_index": "device",
    }
    for name in dir(accelerator) if accelerator is not None else ():
        value = names.get(same.get(name, name))
        if value is not None:
            setattr(accelerator, name, value)
    if accelerator is not None:
        accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")


class _Nothing:
    """Answers every call with 0."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: 0


def _constants() -> dict[str, Any]:
    zeros = (
        "utilization",
        "temperature",
        "power_draw",
        "clock_rate",
        "current_blas_handle",
        "current_solver_handle",
        "_get_device_index",
    )
    nothing = (
        "ipc_collect",
        "check_error",
        "set_sync_debug_mode",
        "_sleep",
    )
    found: dict[str, Any] = {
        name: (lambda value: lambda *args, **kwargs: value)(0) for name in zeros
    }
    found |= {name: lambda *args, **kwargs: None for name in nothing}
    found |= {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "get_device_name": lambda device=None: GPU.name,
        "get_device_capability": lambda device=None: (GPU.major, GPU.minor),
        "get_device_properties": lambda device=None: GPU,
        "get_arch_list": lambda: ["sm_90"],
        "get_gencode_flags": lambda: "-gencode compute=compute_90,code=sm_90",
        "mem_get_info": lambda device=None: (GPU.total_memory, GPU.total_memory),
        "can_device_access_peer": lambda *args: False,
        "get_sync_debug_mode": lambda: 0,
        "cudart": _Nothing,
        "_is_compiled": lambda: True,
    }
    return found


def _waiting(log: Log) -> dict[str, Any]:
    def synchronize(device: Any = None) -> None:
        log.found("host_sync", "torch.cuda.synchronize", HOST_WAITS, WAIT_OUTSIDE)

    return {"synchronize": synchronize, "empty_cache": lambda: None}


def _random(log: Log) -> dict[str, Any]:
    seeded = [torch.default_generator.initial_seed()]

    def seed(number: int) -> None:
        # torch lets the seed pass that the generator has already.
        if log.checking and number != seeded[0]:
            log.found(
                "random_generator",
                "torch.cuda.manual_seed",
                "the generator cannot be seeded anew while a graph that advances it is captured",
                "seed before the capture, or between replays",
            )
        elif not log.checking:
            seeded[0] = number

    def state(*args: Any, **kwargs: Any) -> Any:
        return torch.zeros(16, dtype=torch.uint8)

    def nothing(*args: Any, **kwargs: Any) -> None:
        return None

    return {
        "manual_seed": lambda number: seed(int(number)),
        "manual_seed_all": lambda number: seed(int(number)),
        "seed": lambda: seed(-1),
        "seed_all": lambda: seed(-1),
        "initial_seed": lambda: seeded[0],
        "get_rng_state": state,
        "get_rng_state_all": lambda: [state()],
        "set_rng_state": nothing,
        "set_rng_state_all": nothing,
    }


def _generator(world: World) -> Any:
    plain: Any = torch.Generator

    class AnyGenerator(type(plain)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, plain)

    class Generator(plain, metaclass=AnyGenerator):  # type: ignore[misc]
        """A generator that says it is on the GPU; the numbers do not matter."""

        _cglens_gpu = False
        _cglens_offset = 0

        def __new__(cls, device: Any = "cpu") -> Any:
            made = super().__new__(cls, device="cpu")
            made._cglens_gpu = torch.device(device).type == "cuda"
            if made._cglens_gpu:
                # Operators get another object for the same generator: its address tells.
                world.generators[made._cdata] = made
            return made

        def __init__(self, device: Any = "cpu") -> None:
            pass

        @property
        def device(self) -> torch.device:
            return torch.device("cuda", 0) if self._cglens_gpu else torch.device("cpu")

        def clone_state(self) -> Any:
            other = Generator(self.device)
            other.set_state(self.get_state())
            return other

        # On the host, a generator has no state that graphs could share.
        graphsafe_get_state = clone_state

        def graphsafe_set_state(self, state: Any) -> Any:
            self.set_state(state.get_state())
            return self

        def get_offset(self) -> int:
            return self._cglens_offset

        def set_offset(self, offset: int) -> Any:
            self._cglens_offset = offset
            return self

    return Generator


def _optimizers(log: Log) -> None:
    optimizer: Any = torch.optim.Optimizer

    def check(self: Any) -> None:
        for group in self.param_groups:
            if torch.cuda.is_current_stream_capturing() and not group.get("capturable", True):
                log.found(
                    "host_sync",
                    f"{type(self).__name__}.step",
                    "its step count is on the host, so every replay would take the same step: "
                    "torch refuses to capture it",
                    "make it with `capturable=True`",
                )
                return

    for name in ("_cuda_graph_capture_health_check", "_accelerator_graph_capture_health_check"):
        if hasattr(optimizer, name):
            setattr(optimizer, name, check)
