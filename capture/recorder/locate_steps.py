"""What `cglens locate` makes of a run that was observed: which parts to run, and the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from ..errors import GraphLensError
from ..locate_request import SYMPTOMS, Answer, LocateRequest
from ..located import Located, Run
from ..model import Graph, Recording
from .locate_children import Children, Ended, outcome_of
from .locate_search import BAD, Outcome, search
from .own.node_steps import order_of
from .own.safety import cannot_run_in_place, notes_of

WORDS = {
    "fault": "breaks the device",
    "hang": "does not end",
    "nan": "leaves NaN",
    "inf": "leaves Inf",
    "eager": "leaves other values than eager",
}
"""What a replay with a symptom does."""


class Wanted(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be located.

    Attributes
    ----------
    command : list of str
        Of :func:`capture.recorder.launch.child_command`.
    typed : list of str
        The workload as the user typed it.
    output : Path or None
        Recording to write; ``None`` for one that is read and thrown away.
    force : bool
        Replace a file that is there.
    graph : str
        Key; empty for the first graph that goes wrong.
    symptom : str
        Empty for a fault or a hang, whichever comes.
    timeout_s : float
    function : str
        Of ``__main__``; see :class:`~capture.locate_request.LocateRequest`.
    """

    command: list[str]
    typed: list[str]
    output: Path | None = None
    force: bool = False
    graph: str = ""
    symptom: str = ""
    timeout_s: float = 20.0
    function: str = ""


class Searcher:
    """Finds the node, once a run was observed.

    Parameters
    ----------
    wanted : Wanted
    children : Children
    recording : Recording
        Of the observed run.
    observed : Ended
    tell : callable
        Says a line to the user.
    """

    def __init__(
        self,
        wanted: Wanted,
        children: Children,
        recording: Recording,
        observed: Ended,
        tell: Callable[[str], None],
    ) -> None:
        self.wanted = wanted
        self.children = children
        self.recording = recording
        self.observed = observed
        self.tell = tell
        self.order: list[int] = []
        self.places: dict[int, int] = {}
        self.fingerprint = ""
        self.seen: list[Run] = []

    def located(self) -> Located:
        """Return the result."""
        wanted, observed = self.wanted, self.observed
        bad = observed.outcome
        symptom = wanted.symptom or "fault"
        located = Located(symptom=symptom)
        located.runs.append(
            Run(
                part="the workload, waiting after every replay",
                what=bad.what if bad is not None else "clean",
                detail=bad.detail if bad is not None else "",
                wall_ms=observed.wall_ms,
            )
        )
        if bad is None and observed.last is not None and observed.last.event == "replaying":
            bad = _taken(observed)
            located.runs[0] = msgspec.structs.replace(
                located.runs[0], what=bad.what, detail=bad.detail
            )
        if bad is None:
            located.reason = self._nothing(symptom)
            if symptom == "eager" and any(one.event == "replayed" for one in observed.answers):
                self._against_eager(located)
            return located
        located.graph, located.replay, located.detail = bad.graph, bad.replay, bad.detail
        if bad.what == "outside":
            located.reason = (
                f"the device was in an error before the replay: what broke it ran outside of "
                f"this graph ({bad.detail})"
            )
            return located
        located.symptom, located.found = bad.what, dict(bad.found)
        if wanted.symptom and bad.what != wanted.symptom:
            located.notes.append(
                f"asked for a replay that {WORDS[wanted.symptom]}; before any such, this one "
                f"{WORDS[bad.what]}"
            )
        try:
            graph = self.recording.graph(bad.graph)
        except GraphLensError as error:
            located.reason = str(error)
            return located
        located.reason = cannot_run_in_place(graph)
        if not located.reason:
            self._find(located, graph, bad)
        return located

    def _nothing(self, symptom: str) -> str:
        replays = sum(one.event == "replayed" for one in self.observed.answers)
        if self.wanted.graph and self.wanted.graph not in self.recording.graphs:
            known = ", ".join(list(self.recording.graphs)[:8])
            return f"there is no graph {self.wanted.graph!r}; there are: {known}"
        if not replays:
            return (
                "no replay was seen: replays of graphs captured through torch are, in the process "
                "that captured them"
            )
        notes = [one.detail for one in self.observed.answers if one.event == "note"]
        if notes:
            return "; ".join(dict.fromkeys(notes))
        if symptom == "nan" and any(one.found.get("inf") for one in self.observed.answers):
            return f"none of {replays} replays: {WORDS['nan']}; some leave Inf (--symptom inf)"
        what = "broke the device or hung" if not self.wanted.symptom else WORDS[symptom]
        ended = self.observed.exit_code
        also = f"; the workload itself ended with exit code {ended}" if ended else ""
        return f"none of {replays} replays: {what}{also}"

    def _find(self, located: Located, graph: Graph, bad: Answer) -> None:
        located.order = self.order = order_of(graph.topology)
        self.places = {position: place for place, position in enumerate(self.order)}
        self.fingerprint = self._fingerprint(bad.graph)
        located.notes += notes_of(graph)
        if located.symptom in ("fault", "hang"):
            self._by_parts(located, bad, graph)
        else:
            self._by_values(located, bad)

    def _request(self, bad: Answer, step: str, prefix: int = 0) -> LocateRequest:
        return LocateRequest(
            step=step,
            answers="",
            graph=bad.graph,
            replay=bad.replay,
            prefix=prefix,
            symptom=bad.what,
            timeout_s=self.wanted.timeout_s,
            function=self.wanted.function,
        )

    @staticmethod
    def _holds(graph: Graph, position: int) -> bool:
        return graph.topology.types[position] == "child_graph"

    def _by_parts(self, located: Located, bad: Answer, graph: Graph) -> None:
        def attempt(step: str, prefix: int) -> Outcome:
            what = "node by node" if step == "walk" else f"its first {prefix} nodes at once"
            self.tell(f"running {bad.graph}, replay {bad.replay}, {what}")
            ended = self.children.run(self._request(bad, step, prefix))
            return outcome_of(ended, self.places, self.fingerprint)

        found = search(len(self.order), attempt)
        located.runs += found.runs
        located.notes += found.notes
        located.decided = found.decided
        if found.place is not None:
            located.node = found.path or str(self.order[found.place])
            if self._holds(graph, self.order[found.place]) and not found.path:
                located.notes.append("which of the nodes inside this child graph is not known")
        else:
            located.reason = "no node was found: " + "; ".join(found.notes)

    def _by_values(self, located: Located, bad: Answer) -> None:
        self.tell(f"running {bad.graph}, replay {bad.replay}, node by node, looking at values")
        ended = self.children.run(self._request(bad, "values"))
        self._take_values(located, ended, "node by node, looking at what each operator gave")
        inputs = located.found.get("inputs")
        if inputs:
            located.notes.append(f"before the first node ran: {'; '.join(map(str, inputs))}")
        if not located.node and not located.reason:
            located.reason = (
                "node by node no operator gave any: it takes nodes that run at the same time, or "
                "it does not happen every time"
            )

    def _against_eager(self, located: Located) -> None:
        request = LocateRequest(
            step="eager",
            answers="",
            graph=self.wanted.graph,
            timeout_s=self.wanted.timeout_s,
            function=self.wanted.function,
        )
        self.tell("running the graph node by node beside the function without a graph")
        ended = self.children.run(request)
        bad = ended.outcome
        located.reason = ""
        if bad is not None and bad.graph in self.recording.graphs:
            located.graph, located.replay, located.detail = bad.graph, bad.replay, bad.detail
            graph = self.recording.graph(bad.graph)
            located.order = self.order = order_of(graph.topology)
            self.places = {position: place for place, position in enumerate(self.order)}
            self.fingerprint = self._fingerprint(bad.graph)
        self._take_values(located, ended, "node by node, each operator beside its eager call")
        compared = sum(one.event == "replayed" for one in ended.answers)
        if not located.node and compared and not located.reason:
            located.reason = f"none of {compared} replays: each operator gave what it gives eager"

    def _take_values(self, located: Located, ended: Ended, part: str) -> None:
        """Take over what a child found that walked and looked at values."""
        outcome = outcome_of(ended, self.places, self.fingerprint)
        answer = ended.outcome
        if answer is None and any(one.event == "replayed" for one in ended.answers):
            outcome = outcome._replace(what="clean", detail="")  # it went on to its end
        run = Run(part=part, what=outcome.what, detail=outcome.detail, wall_ms=outcome.wall_ms)
        located.runs.append(run)
        if answer is not None:
            located.found |= answer.found
            notes = answer.found.get("notes")
            located.notes += [str(note) for note in notes] if isinstance(notes, list) else []
        if outcome.what == located.symptom and outcome.place >= 0 and answer is not None:
            located.node = str(self.order[outcome.place])
            located.decided = bool(answer.found.get("sure"))
            located.detail = located.detail or outcome.detail
            nodes = answer.found.get("nodes")
            if isinstance(nodes, list) and len(nodes) > 1:
                located.notes.append(
                    f"the operator made nodes {nodes[0]} to {nodes[-1]}, and values were looked at "
                    f"after all of them: the guilty one is among these"
                )
        elif outcome.what in ("refused", "lost", "outside"):
            located.reason = outcome.detail or outcome.what
            if answer is not None and answer.what in SYMPTOMS:
                located.reason += (
                    f": watching operators changes what is captured, as derivatives call others "
                    f"then; in that graph it is node {answer.node}, {answer.detail}"
                )
        elif outcome.what in BAD:
            located.reason = f"run node by node it {WORDS.get(outcome.what, 'died')}"

    def _fingerprint(self, key: str) -> str:
        return next(
            (
                one.order
                for one in self.observed.answers
                if one.event == "captured" and one.graph == key
            ),
            "",
        )


def _taken(observed: Ended) -> Answer:
    """Return the answer of a process that never came back from a replay."""
    last = observed.last
    assert last is not None
    what = "hang" if observed.killed else "fault"
    detail = observed.killed or f"the process ended in it, with exit code {observed.exit_code}"
    return msgspec.structs.replace(last, event="outcome", what=what, detail=detail)
