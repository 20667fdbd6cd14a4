"""The host waits for the GPU inside the capture."""

from __future__ import annotations

from .base import CAPTURE_FAILURES, NO, FailureKind, Match, certain, likely, possible
from .error_codes import CAPTURED_EVENT, UNSUPPORTED
from .facts import Facts

METHODS = frozenset(
    (
        "item",
        "cpu",
        "numpy",
        "tolist",
        "synchronize",
        "nonzero",
        "argwhere",
        "unique",
        "unique_consecutive",
        "masked_select",
        "repeat_interleave",
        "bincount",
        "print",
        "float",
        "int",
        "bool",
        "str",
        "repr",
        "format",
        "equal",
        "allclose",
        "query",
        "elapsed_time",
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaEventSynchronize",
        "cudaEventQuery",
        "cudaStreamQuery",
        "cuStreamSynchronize",
        "cuCtxSynchronize",
        "cuEventSynchronize",
    )
)
"""Names of calls that wait for the GPU, or ask whether it is done."""
OPERATORS = (
    "_local_scalar_dense",
    "aten.item",
    "aten.nonzero",
    "aten.is_nonzero",
    "aten.masked_select",
    "aten._unique",
    "aten.unique_",
    "aten.equal.",
    "aten.repeat_interleave.Tensor",
    "aten.bincount",
    "aten.index.Tensor",
    "aten.index_put",
    "aten.linalg_",
    "aten._linalg",
)
"""Operators whose result, or whose shape, is read back."""
TRUTH = ("POP_JUMP_IF", "POP_JUMP_FORWARD_IF", "POP_JUMP_BACKWARD_IF", "TO_BOOL", "UNARY_NOT")
LINEAR_ALGEBRA = ("linalg", "inverse", "cholesky", "solve", "svd", "eig", "eigh", "lstsq", "inv")
FRAMES = ("torch/cuda/__init__.py:synchronize", "torch/_tensor_str.py:")


def matches(facts: Facts) -> Match:
    """Look for a call that is known to wait, refused by CUDA."""
    if facts.elsewhere:
        return NO
    if facts.inside("torch/cuda/graphs.py:__enter__"):
        return NO  # the synchronisation is that of a capture inside this one
    said = facts.first.line
    if facts.code == CAPTURED_EVENT:
        return certain(f"CUDA refused to wait for, or ask about, an event of the capture: {said}")
    data_dependent = any(name in facts.broke_in for name in OPERATORS)
    if facts.code != UNSUPPORTED:
        back = facts.method in ("cpu", "numpy", "tolist", "item")
        if back and "during cuda graph capture" in facts.message:
            return certain(f"`{facts.call}` brings data to the host: {said}")
        return NO
    if facts.method in METHODS:
        return certain(f"`{facts.call}` waits for the GPU, which CUDA refused")
    if facts.instruction.startswith(TRUTH):
        return certain(f"`{facts.call}` asks for the truth of a value that is on the GPU")
    if facts.instruction.startswith("FORMAT"):
        return certain("a text needs a value that is on the GPU")
    if facts.inside("torch/_tensor_str.py:_str", "torch/_tensor.py:__repr__"):
        return certain("a tensor's text needs its values")
    if data_dependent:
        return certain(f"{facts.broke_in} reads its result on the host")
    if any(word in facts.call for word in LINEAR_ALGEBRA):
        return likely(f"`{facts.call}` checks on the host whether it succeeded")
    if facts.instruction in ("BINARY_SUBSCR", "BINARY_OP") and "[" in facts.call:
        return likely(f"`{facts.call}` asks how many elements a mask chooses")
    if facts.first.frames:
        return possible(f"CUDA refused what `{facts.call or 'this line'}` does: {said}")
    return NO


KIND = FailureKind(
    name="host_sync",
    title="Host synchronisation",
    meaning=(
        "Nothing runs while a graph is captured, so there is no value to wait for: CUDA refuses "
        "every call with which the host waits for the GPU or asks whether it is done."
    ),
    advice=(
        "Keep the value on the GPU: `loss.detach()` into a static tensor instead of `loss.item()`, "
        "and read it after `replay()`.",
        "Decide on the GPU with `torch.where` or multiplication by a mask instead of `if`, "
        "`x[mask]` or `nonzero()`; `torch.nonzero_static` gives a fixed size.",
        "Print, log and synchronise before the capture or after the replay. "
        "`torch.cuda.set_sync_debug_mode('error')` finds such calls in a run without capture.",
    ),
    documentation=CAPTURE_FAILURES,
    matches=matches,
)
