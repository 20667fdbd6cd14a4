"""The zoo of faults: scripts with one known fault each, and a healthy twin of the same length.

A faulty script says in its docstring what has to be found in its recording:

==========  =====================================================================================
finding     name of the analysis
severity    of the finding, at least
graph       position of the graph, from 0 (without this field: the first one), ``each`` or ``any``
node        types of nodes that have to be named, where lines cannot tell them
text        what the finding has to say in any case, such as the name of a weight
others      ``allowed`` where nodes of lines without a mark may be named too
alone       ``yes`` where the script and its twin need a process of their own, because they look at
            addresses, or change what all graphs of a process share
needs       a package that the script needs besides torch and cuda-bindings
==========  =====================================================================================

Marks at its lines say the rest: a node that ``# <- node`` launched has to be named, and nothing
else; ``# <- told`` stands at a line of which the finding has to tell, because memory was allocated
or freed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.helpers.script_headers import field, marked

HERE = Path(__file__).resolve().parent
FAULTY = HERE / "faulty"
HEALTHY = HERE / "healthy"
REPORT = HERE / "report.json"
NODE = "# <- node"
TOLD = "# <- told"


@dataclass(frozen=True)
class Expected:
    """What has to be said about a faulty script."""

    finding: str
    severity: str
    graph: str = "0"
    node_types: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    others: bool = False
    node_lines: tuple[int, ...] = ()
    told_lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A faulty script and its healthy twin."""

    name: str
    expected: Expected
    needs: str = ""
    alone: bool = False

    @property
    def faulty(self) -> Path:
        return FAULTY / f"{self.name}.py"

    @property
    def healthy(self) -> Path:
        return HEALTHY / f"{self.name}.py"


def pairs() -> list[Pair]:
    """Return the zoo, by name."""
    return [_read(path) for path in sorted(FAULTY.glob("*.py"))]


def _read(path: Path) -> Pair:
    text = path.read_text(encoding="utf-8")
    expected = Expected(
        finding=field(text, "finding"),
        severity=field(text, "severity"),
        graph=field(text, "graph") or "0",
        node_types=tuple(field(text, "node").split()),
        texts=tuple(part.strip() for part in field(text, "text").split(";") if part.strip()),
        others=field(text, "others") == "allowed",
        node_lines=tuple(marked(text, NODE)),
        told_lines=tuple(marked(text, TOLD)),
    )
    return Pair(path.stem, expected, field(text, "needs"), field(text, "alone") == "yes")
