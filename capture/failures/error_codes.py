"""CUDA's errors about captures: their numbers, their names, and the texts they are known by."""

from __future__ import annotations

import re

UNSUPPORTED = 900
INVALIDATED = 901
MERGE = 902
UNMATCHED = 903
UNJOINED = 904
ISOLATION = 905
IMPLICIT = 906
CAPTURED_EVENT = 907
WRONG_THREAD = 908
ILLEGAL_STATE = 401
OUT_OF_MEMORY = 2

CODES = {
    UNSUPPORTED: (
        "cudaErrorStreamCaptureUnsupported",
        "operation not permitted when stream is capturing",
    ),
    INVALIDATED: (
        "cudaErrorStreamCaptureInvalidated",
        "operation failed due to a previous error during capture",
    ),
    MERGE: (
        "cudaErrorStreamCaptureMerge",
        "operation would result in a merge of separate capture sequences",
    ),
    UNMATCHED: (
        "cudaErrorStreamCaptureUnmatched",
        "capture was not ended in the same stream as it began",
    ),
    UNJOINED: ("cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
    ISOLATION: (
        "cudaErrorStreamCaptureIsolation",
        "dependency created on uncaptured work in another stream",
    ),
    IMPLICIT: (
        "cudaErrorStreamCaptureImplicit",
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    CAPTURED_EVENT: (
        "cudaErrorCapturedEvent",
        "operation not permitted on an event last recorded in a capturing stream",
    ),
    WRONG_THREAD: (
        "cudaErrorStreamCaptureWrongThread",
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    ILLEGAL_STATE: (
        "cudaErrorIllegalState",
        "the operation cannot be performed in the present state",
    ),
    OUT_OF_MEMORY: ("cudaErrorMemoryAllocation", "out of memory"),
}
"""Numbers of ``cudaError_t`` (equal in ``CUresult``) with their names and CUDA's own texts."""

_DRIVER_NAMES = {
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": UNSUPPORTED,
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": INVALIDATED,
    "CUDA_ERROR_STREAM_CAPTURE_MERGE": MERGE,
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED": UNMATCHED,
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": UNJOINED,
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": ISOLATION,
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": IMPLICIT,
    "CUDA_ERROR_CAPTURED_EVENT": CAPTURED_EVENT,
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": WRONG_THREAD,
    "CUDA_ERROR_ILLEGAL_STATE": ILLEGAL_STATE,
}
_CUDA = re.compile(r"\bcuda|CUDA|\bcu(blas|dnn|fft|solver|sparse|rand)|\bnvrtc|\bNCCL", re.I)


def is_cuda(error: str, message: str, code: int | None = None) -> bool:
    """Say whether an exception is about CUDA at all."""
    return (
        code is not None
        or "AcceleratorError" in error
        or "CUDA" in error
        or bool(_CUDA.search(message))
    )


def code_of(message: str) -> int | None:
    """Return CUDA's number of the error that a message is about, from its name or its text.

    Examples
    --------
    >>> code_of("CUDA error: operation not permitted when stream is capturing")
    900
    >>> code_of("expected 128 rows") is None
    True
    """
    for name, code in _DRIVER_NAMES.items():
        if name in message:
            return code
    for code, (name, text) in CODES.items():
        if name in message or (code != OUT_OF_MEMORY and text in message):
            return code
    if "CUDA error: out of memory" in message:
        return OUT_OF_MEMORY
    return None


def code_name(code: int | None) -> str:
    """Return CUDA's name of an error, or its number as text where it is none of a capture's."""
    if code is None:
        return ""
    return CODES[code][0] if code in CODES else f"CUDA error {code}"
