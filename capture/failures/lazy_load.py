"""A module, kernel, plan or handle that is made, loaded or tuned at its first use."""

from __future__ import annotations

import re

from .base import NO, FailureKind, Match, certain, likely
from .error_codes import UNSUPPORTED
from .facts import Facts

LIBRARY = re.compile(
    r"cublas(Lt)?Create|cudnnCreate|cusolver\w*Create|cusparseCreate|cufft(Plan|Make|Create)\w*|"
    r"CU(BLAS|DNN|SOLVER|SPARSE)_STATUS_(NOT_INITIALIZED|\w*ALLOC\w*_FAILED)|"
    r"unable to find an engine|nvrtc\w*|cuModuleLoad\w*|cuLibraryLoad\w*|cuModuleGetFunction"
)
"""What libraries call or answer when they are used for the first time."""
ANY_LIBRARY = re.compile(r"cu(BLAS|DNN|FFT|SOLVER|SPARSE)\b[^\n]*", re.I)
FRAMES = (
    ("triton/runtime/autotuner.py:_bench", "Triton was timing configurations"),
    ("triton/testing.py:", "Triton was timing configurations"),
    ("triton/compiler/", "Triton was compiling or loading a kernel"),
    ("torch/_inductor/compile_fx.py:", "torch.compile was compiling"),
    ("torch/_inductor/codecache.py:", "torch.compile was loading a kernel"),
    ("torch/_inductor/async_compile.py:", "torch.compile was compiling"),
    ("torch/_inductor/runtime/benchmarking.py:", "torch.compile was timing configurations"),
    ("torch/_inductor/runtime/triton_heuristics.py:", "torch.compile was loading a kernel"),
    ("torch/_dynamo/convert_frame.py:", "torch.compile was tracing"),
    ("torch/_dynamo/output_graph.py:", "torch.compile was compiling"),
    ("torch/utils/cpp_extension.py:", "an extension was being built"),
    ("cupy/cuda/compiler.py:", "CuPy was compiling a kernel"),
)
"""Frames below the user's line that only a first use has, and what they do."""


def matches(facts: Facts) -> Match:
    """Look for compilers among the frames, and for first uses in the message."""
    if facts.elsewhere:
        return NO
    found = LIBRARY.search(facts.first.message)
    if found:
        return certain(f"the message names {found.group(0)}: {facts.first.line}")
    for part, what in FRAMES:
        frame = facts.inside(part) if facts.is_cuda else None
        if frame is not None:
            return certain(f"{what} ({frame.function})")
    found = ANY_LIBRARY.search(facts.first.message)
    if found and facts.status != "active":
        return likely(f"the error is a library's: {found.group(0)}")
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
    documentation=(
        "https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/lazy-loading.html"
    ),
    matches=matches,
)
