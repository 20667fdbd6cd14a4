"""The compiler is overheard, and nothing of its log changes for that."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType, SimpleNamespace

import pytest

from capture.recorder import compiler_watch
from capture.recorder.compiler_watch import LOGGERS, MOST_SAID, CompilerWatch
from capture.recorder.places import locate
from tests.recorder.conftest import Workplace

SKIPPED = (
    "skipping cudagraphs due to cpu device (arg1_1). Found from : \n"
    '   File "/a/train.py", line 12, in step\n    return x + c\n'
)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompilerWatch]:
    monkeypatch.delitem(sys.modules, "torch._dynamo.utils", raising=False)
    made = CompilerWatch()
    yield made
    made.stop()


def test_what_was_skipped_is_kept_with_its_place(watch: CompilerWatch) -> None:
    logger = logging.getLogger(LOGGERS[0])
    logger.warning(SKIPPED)
    logger.warning(SKIPPED)
    logger.warning("CUDAGraph supports dynamic shapes by recording a new graph for each size")
    found = watch.collect()
    assert found is not None
    assert [(item.kind, item.text, item.place, item.count) for item in found.said] == [
        ("skipped", "skipping cudagraphs due to cpu device (arg1_1)", "/a/train.py:12", 2),
        ("warned", found.said[1].text, "", 1),
    ]


def test_the_log_goes_where_it_went(
    watch: CompilerWatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without handlers Python writes warnings to standard error by its last resort; a handler of
    # ours would end that.
    logger = logging.getLogger(LOGGERS[0])
    assert logger.handlers == []
    above: list[logging.Logger] = []
    parent = logger.parent
    while parent is not None:  # torch's own logger has a handler once its compiler was used
        above.append(parent)
        parent = parent.parent
    handlers = [item.handlers for item in above]
    for item in above:
        item.handlers = []
    try:
        logger.warning("%s of %d", "heard", 1)
    finally:
        for item, before in zip(above, handlers, strict=True):
            item.handlers = before
    assert "heard of 1" in capsys.readouterr().err


def test_counters_and_graph_breaks_come_from_the_compiler(
    watch: CompilerWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = {
        "inductor": Counter({"cudagraph_skips": 2, "fxgraph_cache_miss": 4}),
        "stats": Counter({"unique_graphs": 3, "calls_captured": 40}),
        "graph_break": Counter({"Tensor.item()\n  Explanation: it breaks": 5}),
        "strange": {"text": "no number"},
    }
    module = SimpleNamespace(counters=counters)
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", module)
    found = watch.collect()
    assert found is not None
    assert found.counters == {"cudagraph_skips": 2, "unique_graphs": 3, "calls_captured": 40}
    assert [(item.kind, item.text, item.count) for item in found.said] == [
        ("break", "Tensor.item()", 5)
    ]


def test_where_nothing_is_compiled_nothing_is_said(watch: CompilerWatch) -> None:
    logging.getLogger(LOGGERS[0]).debug(SKIPPED)
    assert watch.collect() is None


def test_what_is_kept_is_bounded(watch: CompilerWatch) -> None:
    logging.getLogger(LOGGERS[0]).addHandler(logging.NullHandler())
    for number in range(2 * MOST_SAID):
        watch.hear(logging.LogRecord("a", logging.WARNING, "", 1, f"skip {number}", None, None))
    found = watch.collect()
    assert found is not None
    assert len(found.said) == MOST_SAID


def test_a_node_of_the_compilers_trees_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    file = f"{torch.__path__[0]}/_inductor/cudagraph_trees.py"
    code = (
        "class CUDAGraphNode:\n"
        "    def __init__(self, wrapped_function, id, parent, inputs, mode):\n"
        "        self.non_static_input_idx = [0]\n"
        "        self.preserved_aliased_inputs = [False] * len(inputs)\n"
        "        inputs.clear()\n"
        "        self.frame = sys._getframe()\n"
        "        self.spot = locate(self.frame)\n"
    )
    names: dict[str, object] = {"sys": sys, "locate": locate}
    exec(compile(code, file, "exec"), names)
    ident = SimpleNamespace
    node = names["CUDAGraphNode"](  # type: ignore[operator]
        SimpleNamespace(id=ident(id=3)), ident(id=7), None, [1, 2], SimpleNamespace(name="FORWARD")
    )
    assert isinstance(node.frame, FrameType)
    assert node.spot.compiled == {"function": 3, "node": 7, "parent": -1, "inputs": 2, "copied": 1}


def test_a_recorded_process_leaves_it_in_the_recording(place: Workplace) -> None:
    recording = place.recorded(
        """
        import logging
        import torch

        logger = logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs")
        logger.warning("skipping cudagraphs due to mutated inputs (1 instances)")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch()
        """
    )
    assert recording.stored("compilation") == ["0"]
    found = recording.evidence("compilation", "0")
    assert [item.kind for item in found.said] == ["skipped"]
    assert found.process == "0"
    shown = place.cglens("info", "out.cgl")
    assert "Coverage of torch.compile" in shown.out
    assert "mutated inputs" in shown.out


class Node:
    """A node of the compiler's scheduler, made up."""

    def __init__(self, name: str, stack: str) -> None:
        self.node = SimpleNamespace(get_origins=lambda: [SimpleNamespace(stack_trace=stack)])
        self._name = name

    def get_name(self) -> str:
        return self._name


def test_operators_that_the_compiler_keeps_out_of_graphs_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Scheduler:
        def should_partition(self, node: Node) -> str | None:
            return {"buf0": "cpu ops", "buf1": "cpu ops"}.get(node.get_name())

    original = Scheduler.should_partition
    monkeypatch.delitem(sys.modules, "torch._dynamo.utils", raising=False)
    module = SimpleNamespace(Scheduler=Scheduler)
    monkeypatch.setitem(sys.modules, compiler_watch.SCHEDULER, module)
    watch = CompilerWatch()
    stack = '  File "/a/train.py", line 5, in on_host\n    return c + 1\n'
    scheduler = Scheduler()
    answers = [
        scheduler.should_partition(Node(name, stack)) for name in ("buf0", "buf0", "buf1", "buf2")
    ]
    assert answers == ["cpu ops", "cpu ops", "cpu ops", None]
    found = watch.collect()
    assert found is not None
    assert [(item.kind, item.text, item.place, item.count) for item in found.said] == [
        ("parted", "not in a graph: cpu ops", "/a/train.py:5", 2)
    ]
    watch.stop()
    assert Scheduler.should_partition is original
