"""Kernel names for people: demangled, short enough for a box, or normalised to a family.

Recordings keep the mangled name; these are computed when something is shown. Names that are not
C++ (Triton, JAX, cuBLAS's ``nvjet_*``) pass through.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

MAX_MANGLED = 8192
"""Longer names are shown as they are."""
MAX_READABLE = 65536
MAX_SHORT = 40

# Every back-reference of a mangled name may repeat all that came before, so a few hundred bytes
# can demangle to terabytes. Up to this many, the result fits in memory whatever they refer to;
# names with more (CUTLASS has some) are demangled in a process with limits.
_TRUSTED_REFERENCES = 16
_REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9L]*_")
_SANDBOX = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
import pydemumble
text = pydemumble.demangle(sys.stdin.read())
sys.stdout.write(text[:65537])
"""
_SANDBOX_SECONDS = 2
_MAX_TIMEOUTS = 3

_TILE = re.compile(r"_?[a-z]*\d+x\d+(?:x\d+)*")
_NUMBERED = re.compile(r"(?:_+(?:knob|stages?|splitk?|kernel)?_?\d+)+\Z", re.IGNORECASE)
_LAMBDA_OWNER = re.compile(r"(\w+)(?:<[^<>()]*>)?\([^()]*\)(?: const)?::(?:'lambda|\{lambda)")
_FUNCTORS = (
    re.compile(r"\b(?:CUDA)?Functor_?(?:On\w+_)?(\w+)"),
    re.compile(r"\b(\w+?)_?[Ff]unctor(?!\w)"),
    re.compile(r"\b(\w{2,}?)Ops?\b(?=<)"),
)
_NOISE = re.compile(r"(?:_?(?:CUDA|cuda|gpu))?(?:_?[Kk]ernel)?_?(?:Impl|impl)?\Z|_kernel_cuda\Z")


@lru_cache(maxsize=16384)
def demangle(name: str) -> str:
    """Return a C++ name in source form; any other name as it is.

    Examples
    --------
    >>> demangle("_Z5scalePfi")
    'scale(float*, int)'
    >>> demangle("triton_poi_fused_add_gelu_0")
    'triton_poi_fused_add_gelu_0'
    """
    if not name.startswith("_Z") or len(name) > MAX_MANGLED or not name.isascii() or "\0" in name:
        return name
    if len(_REFERENCE.findall(name)) > _TRUSTED_REFERENCES:
        readable = _demangle_apart(name)
    else:
        import pydemumble

        readable = pydemumble.demangle(name)
    return readable if readable and len(readable) <= MAX_READABLE else name


class _Patience:
    """How many names ran into the time limit; a file full of them must not cost hours."""

    timeouts = 0


def _demangle_apart(name: str) -> str:
    if _Patience.timeouts >= _MAX_TIMEOUTS:
        return ""
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, our own text
            [sys.executable, "-I", "-c", _SANDBOX],
            input=name,
            capture_output=True,
            text=True,
            timeout=_SANDBOX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _Patience.timeouts += 1
        return ""
    except (OSError, UnicodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def readable(name: str) -> str:
    """Return the full name for people: demangled, without what every kernel has (``void``).

    Examples
    --------
    >>> readable("_Z5scaleIfEvPT_i")
    'scale<float>(float*, int)'
    """
    return demangle(name).removeprefix("void ")


@lru_cache(maxsize=16384)
def short(name: str) -> str:
    """Return a name of at most `MAX_SHORT` characters for a box.

    Namespaces, templates and parameters are folded away; where a generic kernel is told from
    others only by a functor or a lambda, that comes first.

    Examples
    --------
    >>> short("_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN3c104HalfEEE"
    ...       "St5arrayIPcLm3EEEEviT0_T1_")
    'add (vectorized_elementwise)'
    >>> short("nvjet_sm90_hsh_64x64_64x13_2x1_v_bz_bias_TNT")
    'nvjet_sm90_hsh_64x64_64x13_2x1_v_bz_bia…'
    """
    base, word = _parts(name)
    text = base
    if word:
        text = f"{word} ({_NOISE.sub('', base) or base})"
    return text if len(text) <= MAX_SHORT else f"{text[: MAX_SHORT - 1]}…"


@lru_cache(maxsize=16384)
def family(name: str) -> str:
    """Return a name without tile sizes, template arguments and counters.

    Kernels of one family do the same work on other shapes or types.

    Examples
    --------
    >>> family("nvjet_sm90_hsh_64x64_64x13_2x1_v_bz_bias_TNT")
    'nvjet_sm90_hsh_v_bz_bias_TNT'
    >>> family("triton_poi_fused_add_gelu_0") == family("triton_poi_fused_add_gelu_3")
    True
    """
    base, word = _parts(name)
    base = _NUMBERED.sub("", _TILE.sub("", base[:1000])) or base[:1000]
    return f"{base}<{word}>" if word else base


def _parts(name: str) -> tuple[str, str]:
    """Return a kernel's own name and the word that tells it from others of that name."""
    text = demangle(name)
    if text == name:
        return name, ""
    text = text.removeprefix("void ").replace("(anonymous namespace)", "_anonymous_")
    head, arguments = _head(text)
    base = head.rpartition("::")[2].rpartition(" ")[2] or head
    return base, _word(arguments)


def _head(text: str) -> tuple[str, str]:
    """Split a function into its qualified name without template arguments, and the last of them.

    Stops at the parameter list.
    """
    name: list[str] = []
    arguments: list[str] = []
    depth = 0
    for sign in text:
        if sign == "<":
            if depth == 0:
                arguments = []
            depth += 1
        if depth:
            arguments.append(sign)
        elif sign == "(":
            break
        else:
            name.append(sign)
        if sign == ">" and depth and not (len(arguments) > 1 and arguments[-2] == "-"):
            depth -= 1
    return "".join(name), "".join(arguments)


def _word(arguments: str) -> str:
    if not arguments:
        return ""
    owner = _LAMBDA_OWNER.search(arguments)
    if owner is not None:
        return _NOISE.sub("", owner[1].removeprefix("launch_")) or owner[1]
    for pattern in _FUNCTORS:
        found = pattern.search(arguments)
        if found is not None and found[1]:
            return found[1]
    return ""
