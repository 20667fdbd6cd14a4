"""Every way in which torch captures graphs, in unmodified scripts run as child processes."""

from __future__ import annotations

import pytest

from capture.model import Recording
from tests.recorder.conftest import Workplace

CAPTURE = """
    import torch

    def step(x):
        torch.launch(x)
        return torch.launch(x, kernel="mul")

    x = torch.Tensor()
"""


def types(recording: Recording) -> list[list[str]]:
    return [recording.graph(key).topology.types for key in recording.graphs]


def names(recording: Recording, key: str) -> list[str]:
    return [payload.kernel.name for payload in recording.graph(key).payloads]


def test_torch_cuda_graph(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    def main():
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            step(x)
        for _ in range(4):
            g.replay()
        assert x.value == 8, x.value
        print("fine")

    main()
    """
    )
    assert list(recording.graphs) == ["script.py:main#0"]
    info = recording.info("script.py:main#0")
    assert (info.node_count, info.edge_count, info.how) == (2, 1, "observed")
    assert info.place is not None
    assert (info.place.function, info.place.line) == ("main", 12)
    assert info.place.file == str(place.folder / "script.py")
    assert (info.capture_mode, info.device, info.thread) == ("global", 0, "MainThread")
    assert info.stream.startswith("0x5")
    assert info.pool == (0, 1)
    assert info.capture_duration_ns is not None
    assert info.capture_duration_ns > 0
    assert info.read_duration_ns is not None
    assert info.read_duration_ns > 0
    assert names(recording, info.key) == ["add", "mul"]
    assert info.evidence["capture"].present
    assert not info.evidence["timings"].present
    assert info.evidence["timings"].reason
    (executable,) = recording.executables
    assert (executable.replays, executable.ended, executable.graph) == (4, "destroyed", info.key)
    assert executable.instantiate_duration_ns is not None
    kinds = [(event.kind, event.count) for event in recording.timeline]
    assert kinds == [("capture", 1), ("instantiate", 1), ("replay", 4), ("destroy", 1)]
    assert {event.graph for event in recording.timeline} == {info.key}
    assert recording.metadata.complete
    assert recording.metadata.exit_code == 0
    (process,) = recording.processes
    assert process.ended == "exit"
    assert process.versions["torch"] == "0.0.0+stand.in"
    assert process.gpus[0].name == "Declared GPU"
    assert process.costs_ns["read"] > 0


def test_begin_and_end_called_directly_with_a_kept_graph(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    g = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        g.capture_begin(capture_error_mode="thread_local", pool=(0, 77))
        step(x)
        g.capture_end()
    g.instantiate()
    g.replay()
    g.instantiate()
    g.replay()
    g.replay()
    g.reset()
    """
    )
    (info,) = recording.graphs.values()
    assert info.key == "script.py:module#0"
    assert (info.capture_mode, info.pool) == ("thread_local", (0, 77))
    assert [(item.replays, item.ended) for item in recording.executables] == [
        (1, "reset"),
        (2, "reset"),
    ]
    assert [event.kind for event in recording.timeline] == [
        "capture",
        "instantiate",
        "replay",
        "instantiate",
        "replay",
        "reset",
    ]


def test_a_kept_graph_that_its_first_replay_instantiates(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    g = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(g):
        step(x)
    g.replay()
    """
    )
    (executable,) = recording.executables
    assert executable.note == "instantiated by the first replay"
    assert executable.instantiate_duration_ns is None
    assert (executable.replays, executable.ended) == (1, "alive at exit")


def test_make_graphed_callables_tells_forward_from_backward(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE + "    f = torch.cuda.make_graphed_callables(lambda: step(x)); f(); f()\n"
    )
    assert [info.label for info in recording.graphs.values()] == ["forward", "backward"]
    pools = {info.pool for info in recording.graphs.values()}
    assert len(pools) == 1
    assert [item.replays for item in recording.executables] == [2, 2]


def test_siblings_are_told_apart_by_a_local_variable(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    graphs = {}
    def helper(work):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            work()
        return g

    def ladder():
        for batch_size in (1, 2, 8):
            graphs[batch_size] = helper(lambda: step(x))
    ladder()
    """
    )
    assert list(recording.graphs) == [
        "script.py:helper#0+batch_size=1",
        "script.py:helper#1+batch_size=2",
        "script.py:helper#2+batch_size=8",
    ]
    info = recording.info("script.py:helper#2+batch_size=8")
    assert info.name == "helper (script.py:13), batch_size=8"
    assert "guess" in info.extra["label_from"]
    assert [row[2] for row in info.extra["stack"]] == ["helper", "ladder", "<module>"]
    assert len({info.topology for info in recording.graphs.values()}) == 1


def test_threads_capture_side_by_side(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    import threading
    barrier = threading.Barrier(3)
    kept = []
    def work():
        g = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            g.capture_begin(capture_error_mode="thread_local")
            barrier.wait()
            step(x)
            barrier.wait()
            g.capture_end()
        kept.append(g)
        for _ in range(500):
            g.replay()
    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    """
    )
    assert sorted(info.thread for info in recording.graphs.values()) == [
        "worker 0",
        "worker 1",
        "worker 2",
    ]
    assert sorted(info.ordinal for info in recording.graphs.values()) == [0, 1, 2]
    assert types(recording) == [["kernel", "kernel"]] * 3
    assert [item.replays for item in recording.executables] == [500] * 3
    replays = [event for event in recording.timeline if event.kind == "replay"]
    assert sum(event.count for event in replays) == 1500


def test_a_thousand_graphs_destroyed_on_the_way(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    for i in range(300):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for _ in range(i % 5):
                torch.launch(x)
        g.replay()
    """
    )
    assert len(recording.graphs) == 300
    assert [len(recording.graph(key)) for key in recording.graphs] == [i % 5 for i in range(300)]
    ended = [item.ended for item in recording.executables]
    assert ended == ["destroyed"] * 299 + ["alive at exit"]


def test_torch_imported_in_a_thread(place: Workplace) -> None:
    recording = place.recorded(
        """
    import threading
    def work():
        import torch
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            torch.launch()
    t = threading.Thread(target=work); t.start(); t.join()
    """
    )
    assert len(recording.graphs) == 1


def test_a_graph_that_is_replayed_alternately_is_counted_past_the_bound(place: Workplace) -> None:
    from capture.recorder.timeline import MAX_REPLAY_EVENTS

    recording = place.recorded(
        CAPTURE
        + f"""
    graphs = []
    for _ in range(2):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            pass
        graphs.append(g)
    for _ in range({MAX_REPLAY_EVENTS // 2 + 100}):
        graphs[0].replay(); graphs[1].replay()
    """
    )
    assert [item.replays for item in recording.executables] == [MAX_REPLAY_EVENTS // 2 + 100] * 2
    replays = [event for event in recording.timeline if event.kind == "replay"]
    assert len(replays) == MAX_REPLAY_EVENTS
    assert any("counted" in text for text in recording.processes[0].warnings)


def test_failed_capture_keeps_error_place_and_nodes(place: Workplace) -> None:
    place.write(
        "script.py",
        CAPTURE
        + """
    def guilty():
        return x.item()

    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step(x)
        guilty()
    """,
    )
    plain = place.python("script.py")
    done = place.record("script.py")
    assert (done.code, plain.code) == (1, 1)
    assert plain.err.splitlines()[-1] in done.err
    recording = done.recording()
    assert not recording.graphs
    (info,) = recording.failed.values()
    assert info.failure is not None
    assert info.failure.error == "RuntimeError"
    assert info.failure.message == "CUDA error: operation not permitted when stream is capturing"
    assert info.failure.place is not None
    assert (info.failure.place.function, info.failure.place.line) == ("guilty", 11)
    assert info.failure.nodes_read
    assert names(recording, info.key) == ["add", "mul"]
    assert [event.kind for event in recording.timeline] == ["capture_failed"]
    assert recording.metadata.exit_code == 1


def test_capture_that_fails_inside_a_handler_is_not_blamed_on_what_was_handled(
    place: Workplace,
) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    try:
        raise KeyError("old")
    except KeyError:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            step(x)
        h = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(h):
                try:
                    x.item()
                except RuntimeError:
                    pass
        except RuntimeError as error:
            print("as expected", error)
    """
    )
    (info,) = recording.graphs.values()
    assert info.warnings == []
    (failed,) = recording.failed.values()
    assert failed.failure is not None
    assert "previous error during capture" in failed.failure.message


def test_exception_that_leaves_a_valid_capture_is_noted(place: Workplace) -> None:
    place.write(
        "script.py",
        CAPTURE
        + """
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step(x)
        raise ValueError("mine")
    """,
    )
    done = place.record("script.py")
    assert done.code == 1
    assert "ValueError: mine" in done.err
    (info,) = done.recording().graphs.values()
    assert "ValueError" in info.warnings[0]
    assert "script.py:13" in info.warnings[0]


@pytest.mark.parametrize("ending", ["g.reset()", "del g", "pass"])
def test_capture_that_is_never_ended(place: Workplace, ending: str) -> None:
    recording = place.recorded(
        CAPTURE
        + f"""
    g = torch.cuda.CUDAGraph()
    g.capture_begin()
    step(x)
    {ending}
    """
    )
    (info,) = recording.failed.values()
    assert info.failure is not None
    assert info.failure.error == "CaptureNotEnded"
    assert names(recording, info.key) == ["add", "mul"]


def test_capture_ended_on_the_wrong_stream_first(place: Workplace) -> None:
    recording = place.recorded(
        CAPTURE
        + """
    g = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        g.capture_begin()
        step(x)
    try:
        g.capture_end()
    except RuntimeError:
        pass
    with torch.cuda.stream(side):
        g.capture_end()
    """
    )
    assert len(recording.graphs) == 1
    assert not recording.failed


def test_without_the_driver_bindings_captures_are_kept_unread(place: Workplace) -> None:
    (place.folder / "cuda").mkdir()
    place.write("cuda/__init__.py", "")
    place.write("cuda/bindings/__init__.py", "")
    place.write("cuda/bindings/driver.py", "raise ImportError('no bindings')")
    # The stand-in for torch needs the fake driver that hides behind its own cuda package.
    place.write(
        "script.py",
        """
    import sys, importlib
    own = sys.path.pop(0)
    import torch, cuda.bindings.driver as real
    real.world()
    del sys.modules["cuda.bindings.driver"], sys.modules["cuda.bindings"], sys.modules["cuda"]
    sys.path.insert(0, own)
    import torch.cuda.graphs
    torch.cuda.graphs._world = real.world
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        torch.launch()
    g.replay()
    print("fine")
    """,
    )
    done = place.record("script.py")
    assert done.code == 0, done.err
    assert done.out == "fine\n"
    recording = done.recording()
    (info,) = recording.failed.values()
    assert info.failure is not None
    assert info.failure.error == "NotRead"
    assert "cuda-bindings" in info.failure.reason
    assert [item.replays for item in recording.executables] == [1]


def test_graph_trees_of_the_compiler(place: Workplace) -> None:
    recording = place.recorded(
        """
        import threading, torch
        from torch._inductor.cudagraph_trees import (
            CompilationMode, CUDAGraphNode, CUDAGraphTreeManager,
        )
        kept = []
        def compiled_call():
            manager = CUDAGraphTreeManager()
            forward = CUDAGraphNode(manager, torch.launch, CompilationMode.FORWARD)
            # Backward runs on autograd's own thread, whose stack has no frame of the user's.
            thread = threading.Thread(
                target=CUDAGraphNode, args=(manager, torch.launch, CompilationMode.BACKWARD)
            )
            thread.start(); thread.join()
            kept.extend((manager, forward))
        compiled_call()
        """
    )
    pool, forward, backward = recording.graphs.values()
    assert pool.extra["framework_internal"] is True
    assert (pool.node_count, pool.capture_mode) == (0, "thread_local")
    assert "framework_internal" not in forward.extra
    assert (forward.key, forward.label) == ("script.py:compiled_call#1+forward", "forward")
    assert backward.label == "backward"
    assert backward.extra["place_is_framework"] is True
    assert backward.key == "torch/_inductor/cudagraph_trees.py:_record#0+backward"
    assert len({pool.pool, forward.pool, backward.pool}) == 1
    assert not recording.failed
