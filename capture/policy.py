"""What a capture has to hold: a policy file in TOML, read into one structure.

::

    graphs = ["*forward*"]        # patterns of keys; all graphs when left out

    [nodes]
    most = 500                    # nodes of a graph, bodies included
    increase = 0.0                # against the baseline, as a share
    forbidden = ["host", "mem_alloc"]

    [kernels]
    by = "family"                 # or "name": what counts as the same kernel
    new = "forbid"                # against the baseline
    missing = "forbid"
    required = ["flash_fwd"]      # parts of names
    forbidden = ["elementwise"]

    [time]                        # against the baseline, as shares; false for no limit
    replay_increase = 0.05
    critical_path_increase = 0.05

    [memory]
    pool_most_bytes = 1073741824  # reserved by the graph's own pool
    pool_increase = 0.1           # against the baseline, as a share

    [coverage]
    timed = 0.9                   # share of nodes with a duration
    failed_captures = 0           # most
    missing_graphs = "forbid"     # graphs of the baseline that are not there

    [findings]
    severity = "warning"          # the mildest that breaks the policy; false for none
    allowed = ["idle_gaps"]       # names of analyses
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .errors import FormatError

SEVERITIES = ("notice", "warning")
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a capture has to hold. ``None`` is no limit; shares are fractions of the baseline.

    The defaults hold without a policy file.
    """

    graphs: tuple[str, ...] = ("*",)
    nodes_most: int | None = None
    nodes_increase: float | None = None
    nodes_forbidden: tuple[str, ...] = ()
    kernels_by: str = "family"
    kernels_new: str = "forbid"
    kernels_missing: str = "forbid"
    kernels_required: tuple[str, ...] = ()
    kernels_forbidden: tuple[str, ...] = ()
    time_replay_increase: float | None = 0.05
    time_critical_path_increase: float | None = 0.05
    memory_pool_most_bytes: int | None = None
    memory_pool_increase: float | None = None
    coverage_timed: float | None = None
    coverage_failed_captures: int | None = 0
    coverage_missing_graphs: str = "forbid"
    findings_severity: str | None = "warning"
    findings_allowed: tuple[str, ...] = ()


Accept = Callable[[Any], Any]


def _count(value: Any) -> int | None:
    if value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number from 0, or false for no limit")
    return value


def _share(value: Any) -> float | None:
    if value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise ValueError("a share such as 0.05 for 5 %, or false for no limit")
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('a list of texts such as ["host"]')
    return tuple(value)


def _choice(*choices: str, none: bool = False) -> Accept:
    def accept(value: Any) -> str | None:
        if none and value is False:
            return None
        if value not in choices:
            listed = " or ".join(f'"{choice}"' for choice in choices)
            raise ValueError(f"{listed}{', or false for none' if none else ''}")
        return str(value)

    return accept


_KEYS: dict[str, Accept] = {
    "graphs": _texts,
    "nodes.most": _count,
    "nodes.increase": _share,
    "nodes.forbidden": _texts,
    "kernels.by": _choice("name", "family"),
    "kernels.new": _choice("allow", "forbid"),
    "kernels.missing": _choice("allow", "forbid"),
    "kernels.required": _texts,
    "kernels.forbidden": _texts,
    "time.replay_increase": _share,
    "time.critical_path_increase": _share,
    "memory.pool_most_bytes": _count,
    "memory.pool_increase": _share,
    "coverage.timed": _share,
    "coverage.failed_captures": _count,
    "coverage.missing_graphs": _choice("allow", "forbid"),
    "findings.severity": _choice(*SEVERITIES, none=True),
    "findings.allowed": _texts,
}


def read_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises
    ------
    FormatError
        It cannot be read, is no TOML, or has a key or value that no policy has.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{path} has more than {MOST_BYTES:,} bytes, expected a policy")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(
            f"the policy {path} cannot be read: {error}; expected a TOML file"
        ) from error
    return parse_policy(text, str(path))


def parse_policy(text: str, name: str = "policy") -> Policy:
    r"""Read a policy from TOML.

    Raises
    ------
    FormatError
        No TOML, or a key or value that no policy has.

    Examples
    --------
    >>> parse_policy("[nodes]\nmost = 100").nodes_most
    100
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{name} is no TOML: {error}") from error
    found: dict[str, Any] = {}
    for key, value in _flat(content):
        accept = _KEYS.get(key)
        if accept is None:
            raise FormatError(f"{name} has the key {key!r}, which no policy has: {_hint(key)}")
        try:
            found[key.replace(".", "_")] = accept(value)
        except ValueError as error:
            raise FormatError(f"{name}: {key} is {value!r}, expected {error}") from None
    return Policy(**found)


def _flat(content: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return keys with their section; a key may as well be a section without a known key."""
    found: list[tuple[str, Any]] = []
    for key, value in content.items():
        if isinstance(value, dict):
            found += [(f"{key}.{inner}", item) for inner, item in value.items()]
            if not value and not any(known.startswith(f"{key}.") for known in _KEYS):
                found.append((key, value))
        else:
            found.append((key, value))
    return found


def _hint(key: str) -> str:
    close = get_close_matches(key, _KEYS, n=1, cutoff=0.5)
    if not close:
        inner = key.rpartition(".")[2]
        ends = {known.rpartition(".")[2]: known for known in _KEYS}
        close = [ends[end] for end in get_close_matches(inner, ends, n=1, cutoff=0.6)]
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(_KEYS)}"
