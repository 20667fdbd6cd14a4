"""What torch's compiler says of the kernels that it wrote.

Two things are there without any setting: the comments beside each launch in the module that it
generated, with the names of the original operators, and the map from lines of that module to the
user's stack, which it loads with the module. The map leaves out partitions, so stacks are also
found by the names, in what was noted of the traced graph.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from functools import lru_cache

from .origins.context import Provenance
from .origins.stacks import Place
from .torch_origins_cached import Names
from .torch_origins_compiled import COMPILATIONS

CODECACHE = "torch._inductor.codecache"
_COMMENT = re.compile(r"#.*?Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]")
_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')
_LAUNCH = re.compile(r"\.run\(|extern_kernels\.|torch\.ops\.|^\s*cpp_\w+\(|async_compile\.")
NOTHING = Names({}, {})
LINES_ABOVE = 40
"""How far above a line its comment is looked for."""


def provenance(file: str, line: int, kernel: str) -> Provenance | None:
    """Return where a line of a generated module comes from; ``None`` when nothing is known.

    Parameters
    ----------
    file : str
    line : int
        Where the kernel is launched, or an operator called.
    kernel : str
    """
    sources, operators = names_of(file, line, kernel)
    known = COMPILATIONS.names.get(file, NOTHING)
    named = (_stack(known.traces[name]) for name in sources if name in known.traces)
    stacks = tuple(dict.fromkeys((*stacks_of(file, line), *filter(None, named))))
    if not operators and not stacks:
        return None
    owners = tuple(dict.fromkeys(known.owners[name] for name in sources if name in known.owners))
    return Provenance(
        operators=operators,
        modules=tuple(owner.path for owner in owners),
        identities=tuple(owner.identity for owner in owners),
        stacks=stacks,
    )


def names_of(file: str, line: int, kernel: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the traced operators and the original ones that a line's comment names.

    It is the comment above the launch or, when another launch comes in between, the one above the
    kernel's source.
    """
    text = _lines(file)
    found = _comment_above(text, min(line, len(text)) - 1)
    if found is None:
        start = f"{kernel} = "
        at = next((at for at, item in enumerate(text) if item.startswith(start)), None)
        found = _comment_above(text, at) if at is not None else None
    if found is None:
        return (), ()
    return _split(found[1]), _split(found[2])


def _comment_above(text: list[str], at: int) -> re.Match[str] | None:
    for number in range(at - 1, max(-1, at - LINES_ABOVE), -1):
        found = _COMMENT.search(text[number])
        if found or _LAUNCH.search(text[number]):
            return found
    return None


def _split(names: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in names.split(","))))


def stacks_of(file: str, line: int) -> tuple[tuple[Place, ...], ...]:
    """Return the user's stacks that a generated line comes from, innermost first."""
    cache = getattr(sys.modules.get(CODECACHE), "PyCodeCache", None)
    entry = getattr(cache, "linemaps", {}).get(file)
    if not entry:
        return ()
    lines, texts = entry
    last = bisect_right(lines, line)
    if not last:
        return ()
    # Every operator of a fused kernel has an entry of its own, all at one line.
    first = bisect_left(lines, lines[last - 1])
    found = (_stack(str(text or "")) for text in texts[first:last])
    return tuple(dict.fromkeys(filter(None, found)))


def _stack(text: str) -> tuple[Place, ...]:
    """Return a stack that torch printed, innermost first."""
    frames = [
        (name, int(number), function.strip()) for name, number, function in _FRAME.findall(text)
    ]
    return tuple(reversed(frames))


@lru_cache(maxsize=32)
def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []
