"""A script that asks and sets what torch tells of the GPU's libraries and of its memory."""

import torch

x = torch.randn(8, 8, device="cuda")
assert torch.backends.cudnn.is_available()
assert torch.backends.cudnn.is_acceptable(x)
assert torch.backends.cudnn.version() > 80000
assert torch.backends.cudnn.enabled
torch.backends.cudnn.benchmark = True
with torch.backends.cudnn.flags(enabled=False):
    assert not torch.backends.cudnn.enabled
torch.backends.cuda.cufft_plan_cache[0].max_size = 10
assert torch.backends.cuda.cufft_plan_cache.size >= 0
torch.backends.cuda.preferred_linalg_library("cusolver")
torch.backends.cuda.preferred_blas_library("cublaslt")
assert int(torch.version.cuda.split(".")[0]) >= 12
assert torch.cuda.get_allocator_backend() == "native"
assert torch.cuda.memory_stats().get("no such counter", 0) == 0
torch.cuda.reset_peak_memory_stats()
torch.cuda.memory._record_memory_history(max_entries=10)
assert "segments" in torch.cuda.memory._snapshot()
torch.cuda.memory._record_memory_history(enabled=None)
torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStart())
torch.cuda.profiler.stop()
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    y = torch.zeros(8, 8, device="cuda")
torch.compiler.cudagraph_mark_step_begin()
assert not torch.cuda.tunable.is_enabled()
with torch.cuda._DeviceGuard(0):
    assert torch.cuda._exchange_device(0) == 0
assert y.type() == "torch.cuda.FloatTensor"
half = x.type(torch.cuda.HalfTensor)
assert isinstance(half, torch.cuda.HalfTensor)
assert torch.tensor([1.0], device=0).is_cuda


def step() -> None:
    torch.addmm(half, half, half)
    torch.fft.irfft(torch.fft.rfft(x))
    torch.linalg.solve_ex(x, y)


step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
