"""The zoo: small scripts, each with one failing capture, its kind and a mark at the guilty line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.helpers.script_headers import field, marked

HERE = Path(__file__).resolve().parent
ZOO = HERE / "zoo"
SILENT = HERE / "silent"
GUILTY = "# <- fails here"
LEFT_OUT = "# <- left out"


@dataclass(frozen=True)
class Script:
    """One script of the zoo."""

    path: Path
    kind: str
    """Of a failure; empty where work is left out silently."""
    line: int
    left_out: str = ""
    """The operator that is left out silently."""
    gpus: int = 1

    @property
    def name(self) -> str:
        return self.path.stem


def zoo() -> list[Script]:
    """Return the scripts whose capture fails."""
    return [_read(path, GUILTY) for path in sorted(ZOO.glob("*.py"))]


def silent() -> list[Script]:
    """Return the scripts whose capture ends well without all of the work."""
    return [_read(path, LEFT_OUT) for path in sorted(SILENT.glob("*.py"))]


def _read(path: Path, marker: str) -> Script:
    text = path.read_text(encoding="utf-8")
    lines = marked(text, marker)
    if len(lines) != 1:
        raise ValueError(f"{path}: expected one line with {marker!r}, found {len(lines)}")
    return Script(
        path=path,
        kind=field(text, "kind"),
        line=lines[0],
        left_out=field(text, "left out"),
        gpus=int(field(text, "gpus") or 1),
    )
