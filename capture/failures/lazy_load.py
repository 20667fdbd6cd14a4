"""A module, kernel, plan or handle that is made, loaded or tuned at its first use."""

from __future__ import annotations

import re

from .base import NO, FailureKind, Match, certain, likely
from .facts import UNSUPPORTED, Facts

LIBRARY = re.compile(
    r"cublas(Lt)?Create|CUBLAS_STATUS_(NOT_INITIALIZED|ALLOC_FAILED)|cudnnCreate|"
    r"CUDNN_STATUS_NOT_INITIALIZED|cusolver\w*Create|CUSOLVER_STATUS_\w+|cusparseCreate|"
    r"cufft\w*|CUFFT_\w+|nvrtc\w*|NVRTC_\w+|unable to find an engine|"
    r"cuModuleLoad\w*|cuLibraryLoad\w*|cuModuleGetFunction",
    re.I,
)
FRAMES = (
    ("triton/runtime/autotuner.py:", "Triton was timing configurations"),
    ("triton/testing.py:", "Triton was timing configurations"),
    ("triton/compiler/", "Triton was compiling or loading a kernel"),
    ("triton/runtime/jit.py:", "Triton was launching a kernel for the first time"),
    ("torch/_inductor/", "torch.compile was compiling or tuning"),
    ("torch/_dynamo/", "torch.compile was tracing or compiling"),
    ("torch/utils/cpp_extension.py:", "an extension was being built"),
    ("cupy/_core/", "CuPy was compiling or loading a kernel"),
)


def matches(facts: Facts) -> Match:
    """Look for compilers among the frames, and for first uses in the message."""
    if facts.elsewhere:
        return NO
    found = LIBRARY.search(facts.first.message)
    if found:
        return certain(f"the message names {found.group(0)}: {facts.first.line}")
    for part, what in FRAMES:
        if not facts.is_cuda:
            break
        folder = part.rstrip("/:")
        for frame in facts.first.frames:
            if not frame.user and f"/{folder}" in frame.file.replace("\\", "/"):
                return certain(f"{what} ({frame.function})")
    if facts.code == UNSUPPORTED and facts.inside("torch/cuda/__init__.py:_lazy_init"):
        return likely("torch was starting CUDA")
    return NO


KIND = FailureKind(
    name="lazy_load",
    title="Loaded or tuned inside the capture",
    meaning=(
        "Kernels, plans and library handles are loaded, compiled or timed at their first use. "
        "That allocates and waits for the GPU, which a capture does not allow."
    ),
    advice=(
        "Run the same code with the same shapes and dtypes a few times on a side stream before "
        "the capture: three warm-up runs are torch's own advice.",
        "Switch tuning off or let it finish before: `torch.backends.cudnn.benchmark = False`, "
        "Triton's `@autotune` warmed for the shape that is captured, compiled functions called "
        "once.",
        "`CUDA_MODULE_LOADING=EAGER` loads every kernel of a module at start-up.",
    ),
    documentation=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#lazy-loading"),
    matches=matches,
)
