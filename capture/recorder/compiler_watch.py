"""What torch.compile says of its graphs: its counters, and its log as it goes by.

Nothing of torch is imported here. The log is overheard by a filter, which sees what a logger
handles and changes nothing of where that goes; a handler would, for loggers without one. Since
torch 2.9 the compiler parts a function around operators that cannot be in a graph and says so
nowhere; the reason is what a method of its scheduler returns.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..outside import Compilation, Said
from .import_watch import after_import
from .replaced import ReplacedAttributes

LOGGERS = tuple(
    f"torch._inductor.{module}.__{artifact}"
    for module in ("cudagraph_utils", "cudagraph_trees", "compile_fx", "output_code")
    for artifact in ("cudagraphs", "perf_hints")
)
"""Where torch 2.6 to 2.13 tell of their graphs; asking for a logger by name imports nothing."""
MOST_SAID = 200
MOST_TEXT = 1000
SKIPS = ("skipping cudagraph", "skip cudagraph", "disabling cudagraph")
SCHEDULER = "torch._inductor.scheduler"
_NO_GRAPHS = "partition includes all ops when cudagraphs is disabled"
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


class CompilerWatch:
    """Overhears the compiler of this process."""

    def __init__(self) -> None:
        self._said: Counter[tuple[str, str, str]] = Counter()
        self._parted: dict[tuple[str, str], set[str]] = {}
        self._filter = _Overhear(self)
        self._replaced = ReplacedAttributes()
        for name in LOGGERS:
            logging.getLogger(name).addFilter(self._filter)
        after_import(SCHEDULER, self._listen_to_partitions)

    def _listen_to_partitions(self) -> None:
        kind = getattr(sys.modules.get(SCHEDULER), "Scheduler", None)
        if kind is None:
            return

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def should_partition(scheduler: Any, node: Any, *args: Any, **kwargs: Any) -> Any:
                reason = original(scheduler, node, *args, **kwargs)
                if reason:
                    with suppress(Exception):
                        self.part(reason, node)
                return reason

            return should_partition

        self._replaced.replace(kind, "should_partition", make)

    def part(self, reason: Any, node: Any) -> None:
        """Keep why an operator of the compiler's scheduler is not in a graph."""
        if reason == _NO_GRAPHS or getattr(node, "snodes", None):
            return  # of a fused node each part is asked for as well
        text = "not in a graph: " + (reason if isinstance(reason, str) else "the compiler's choice")
        traced = next(iter(node.node.get_origins()), None)
        _, place = first_line(str(getattr(traced, "stack_trace", "") or ""))
        if len(self._parted) < MOST_SAID or (text, place) in self._parted:
            self._parted.setdefault((text[:MOST_TEXT], place), set()).add(str(node.get_name()))

    def stop(self) -> None:
        """Leave the loggers and the compiler as they were."""
        self._replaced.put_back()
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    def forget(self) -> None:
        """Begin anew, in a forked child."""
        self._said.clear()
        self._parted.clear()

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
        said += [
            Said(kind="parted", text=text, place=place, count=len(names))
            for (text, place), names in self._parted.items()
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
