"""What torch.compile says of its graphs: its counters, and its log as it goes by.

Nothing of torch is imported here. The log is overheard by a filter, which sees what a logger
handles and changes nothing of where that goes; a handler would, for loggers without one.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from typing import Any

from ..outside import Compilation, Said

LOGGERS = tuple(
    f"torch._inductor.{module}.__{artifact}"
    for module in ("cudagraph_utils", "cudagraph_trees", "compile_fx", "output_code")
    for artifact in ("cudagraphs", "perf_hints")
)
"""Where torch 2.6 to 2.13 tell of their graphs; asking for a logger by name imports nothing."""
MOST_SAID = 200
MOST_TEXT = 1000
SKIPS = ("skipping cudagraph", "skip cudagraph", "disabling cudagraph")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


class CompilerWatch:
    """Overhears the compiler of this process."""

    def __init__(self) -> None:
        self._said: Counter[tuple[str, str, str]] = Counter()
        self._filter = _Overhear(self)
        for name in LOGGERS:
            logging.getLogger(name).addFilter(self._filter)

    def stop(self) -> None:
        """Leave the loggers as they were."""
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    def forget(self) -> None:
        """Begin anew, in a forked child."""
        self._said.clear()

    def hear(self, record: logging.LogRecord) -> None:
        """Keep a message of at least the level of a warning."""
        if record.levelno < logging.WARNING or len(self._said) >= MOST_SAID:
            return
        text = record.getMessage()
        kind = "skipped" if text.lower().startswith(SKIPS) else "warned"
        first, place = first_line(text)
        self._said[kind, first, place] += 1

    def collect(self) -> Compilation | None:
        """Return what is known now; ``None`` where nothing was compiled."""
        counters = _counters()
        breaks = counters.pop("graph_break", {})
        numbers = {
            name: count
            for group, names in _COUNTED.items()
            for name, count in counters.get(group, {}).items()
            if name.startswith(names)
        }
        said = [
            Said(kind=kind, text=text, place=place, count=count)
            for (kind, text, place), count in self._said.most_common()
        ]
        for reason, count in list(breaks.items())[:MOST_SAID]:
            text, place = first_line(str(reason))
            said.append(Said(kind="break", text=text, place=place, count=count))
        if not said and not numbers:
            return None
        return Compilation(said=said, counters=numbers)


_COUNTED = {
    "inductor": ("cudagraph",),
    "stats": ("unique_graphs", "calls_captured"),
    "frames": ("total", "ok"),
    "recompiles": ("",),
}


class _Overhear(logging.Filter):
    def __init__(self, watch: CompilerWatch) -> None:
        super().__init__()
        self._watch = watch

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            self._watch.hear(record)
        except Exception:
            return True  # whatever it is, the user's log goes on
        return True


def first_line(text: str) -> tuple[str, str]:
    r"""Return the first line of a message and the innermost place of the user's that it names.

    Examples
    --------
    >>> first_line('skipping cudagraphs due to x. Found from : \n File "a.py", line 3, in f')
    ('skipping cudagraphs due to x', 'a.py:3')
    """
    places = [f"{file}:{line}" for file, line in _PLACE.findall(text)]
    first = text.strip().partition("\n")[0].strip()
    first = re.sub(r"\.?\s*Found from\s*:?\s*$", "", first)
    return first[:MOST_TEXT], places[-1] if places else ""


def _counters() -> dict[str, dict[str, int]]:
    utils = sys.modules.get("torch._dynamo.utils")
    counters: Any = getattr(utils, "counters", None)
    if not isinstance(counters, dict):
        return {}
    return {
        str(group): {str(name): int(count) for name, count in names.items()}
        for group, names in counters.items()
        if isinstance(names, dict) and all(isinstance(count, int) for count in names.values())
    }
