"""What torch's compiler says of the kernels that it wrote.

Two things are there without any setting: the comments beside each launch in the module that it
generated, with the names of the original operators, and the map from lines of that module to the
user's stack, which it loads with the module.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from functools import lru_cache

from .origins.context import Provenance
from .origins.stacks import Place

CODECACHE = "torch._inductor.codecache"
_COMMENT = re.compile(r"#.*?Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]")
_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')
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
    operators = operators_of(file, line)
    stacks = stacks_of(file, line)
    if not operators and not stacks:
        return None
    return Provenance(operators=operators, stacks=stacks)


def operators_of(file: str, line: int) -> tuple[str, ...]:
    """Return the original operators that the comment above a line names."""
    text = _lines(file)
    for number in range(min(line, len(text)) - 1, max(-1, line - LINES_ABOVE), -1):
        found = _COMMENT.search(text[number])
        if found:
            return tuple(filter(None, (name.strip() for name in found[2].split(","))))
    return ()


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
    found: list[tuple[Place, ...]] = []
    for text in texts[first:last]:
        frames = [
            (name, int(number), function.strip())
            for name, number, function in _FRAME.findall(str(text or ""))
        ]
        if frames:
            found.append(tuple(reversed(frames)))
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=32)
def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []
