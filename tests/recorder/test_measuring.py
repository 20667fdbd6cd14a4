"""Replays of our own in a recorded child, over the stand-ins for torch and the driver."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capture.benchmarks import Benchmark
from capture.measure_request import ENVIRONMENT, MeasureRequest
from tests.recorder.conftest import Done, Workplace

SCRIPT = """
    import os, sys, torch
    from cuda.bindings import driver
    world = driver.world()
    x = torch.Tensor()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.launch(x, kernel="first")
        torch.launch(x, kernel="second")
        torch.launch(x, kernel="third")
    graph.replay()
"""


def measured(place: Workplace, text: str, request: MeasureRequest, *more: str) -> Done:
    place.write("script.py", text)
    return place.record(*(more or ("script.py",)), env={ENVIRONMENT: request.to_json()})


def only(done: Done) -> Benchmark:
    recording = done.recording()
    (key,) = recording.graphs
    found = recording.benchmark(key)
    assert found is not None, recording.graphs[key].evidence
    assert found.graph == key
    return found


def test_a_graph_is_measured_after_the_script(place: Workplace) -> None:
    text = SCRIPT + "    print('replays', 1, 'value', x.value)\n"
    done = measured(place, text, MeasureRequest(replays=7))
    assert done.code == 0, done.err
    assert done.out == "replays 1 value 3.0\n"
    assert "measuring graph 1 of 1" in done.err
    found = only(done)
    assert found.replay_ns == found.cold_replay_ns == [3_000] * 7
    assert len(found.launch_cpu_ns) == 7
    assert len(found.capture_ns) == 1
    assert found.eager is None
    assert found.nodes is None
    assert found.executable_bytes == 1 << 20
    recording = done.recording()
    # What the script did is what it did: our replays are not among its own.
    assert [item.replays for item in recording.executables] == [1]
    assert recording.processes[0].costs_ns["measure"] > 0
    assert recording.graphs[found.graph].evidence["benchmarks"].present


def test_nothing_is_measured_without_a_request(place: Workplace) -> None:
    recording = place.recorded(SCRIPT)
    assert recording.benchmarked == []
    assert "measure" not in recording.processes[0].costs_ns


def test_a_request_that_is_none_is_said(place: Workplace) -> None:
    place.write("script.py", SCRIPT)
    done = place.record("script.py", env={ENVIRONMENT: '{"bench": 3}'})
    assert done.code == 0, done.err
    recording = done.recording()
    assert recording.benchmarked == []
    (warning,) = recording.processes[0].warnings
    assert ENVIRONMENT in warning


def test_nodes_and_removals(place: Workplace) -> None:
    request = MeasureRequest(
        replays=6, nodes=True, removals=[("", "node:1-2"), ("", "each>1%"), ("", "type:memset")]
    )
    found = only(measured(place, SCRIPT, request))
    assert found.nodes is not None
    assert found.nodes.node == ["0", "1", "2"]
    assert found.nodes.isolated_ns == found.nodes.marginal_ns == [1_000] * 3
    assert found.nodes.reasons == {}
    by_text = {removal.asked: removal for removal in found.removals}
    assert set(by_text) == {"node:1-2", "node:0", "node:1", "node:2", "type:memset"}
    assert by_text["node:1-2"].with_ns == [3_000] * 6
    assert by_text["node:1-2"].without_ns == [1_000] * 6
    assert by_text["node:2"].without_ns == [2_000] * 6
    assert all(not removal.reason for text, removal in by_text.items() if text.startswith("node"))
    assert "memset" in by_text["type:memset"].reason


def test_a_function_is_timed_without_a_graph_too(place: Workplace) -> None:
    text = """
        import torch
        def step():
            return torch.launch(torch.Tensor())
    """
    done = measured(place, text, MeasureRequest(replays=6), "script:step")
    assert done.code == 0, done.err
    found = only(done)
    assert len(found.capture_ns) == 4
    assert found.eager is not None
    assert len(found.eager.call_ns) == len(found.eager.cpu_ns) == len(found.eager.gpu_ns) == 4
    assert found.eager.share == {}
    assert "no split" in found.eager.reason  # the stand-in has no profiler
    # Capturing it again is ours: the recording has one graph.
    assert len(done.recording().graphs) == 1


DESTROYED = """
    import gc, torch
    def main():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch()
        graph.replay()
    main()
    gc.collect()
"""


def test_a_graph_that_is_gone_is_measured_and_its_end_recorded(place: Workplace) -> None:
    done = measured(place, DESTROYED, MeasureRequest(replays=5))
    assert only(done).replay_ns == [1_000] * 5
    assert [item.ended for item in done.recording().executables] == ["destroyed"]


def test_without_tracing_the_recording_says_why(place: Workplace) -> None:
    done = measured(place, SCRIPT, MeasureRequest(replays=5, traced=False))
    (info,) = done.recording().graphs.values()
    evidence = info.evidence["timings"]
    assert not evidence.present
    assert "CUPTI was left out" in evidence.reason
    assert not any("CUPTI" in note for note in only(done).notes)


def test_only_what_was_asked_for_is_kept(place: Workplace) -> None:
    text = """
        import torch
        for number in range(4):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                torch.launch()
    """
    done = measured(place, text, MeasureRequest(replays=3, most_graphs=2))
    recording = done.recording()
    keys = list(recording.graphs)
    assert recording.benchmarked == keys[:2]
    assert "the first 2 graphs" in recording.graphs[keys[3]].evidence["benchmarks"].reason
    (place.folder / "out.cgl").unlink()
    done = measured(place, text, MeasureRequest(replays=3, graphs=[keys[2]]))
    assert done.recording().benchmarked == [keys[2]]


def test_a_removal_that_breaks_the_device_is_the_last(place: Workplace) -> None:
    text = SCRIPT + "    world.fatal_without = {1}\n"
    request = MeasureRequest(replays=5, removals=[("", "node:0"), ("", "node:1"), ("", "node:2")])
    done = measured(place, text, request)
    assert done.code == 0, done.err
    found = only(done)
    assert found.replay_ns == [3_000] * 5
    good, broken, never = found.removals
    assert good.without_ns == [2_000] * 5
    assert "ILLEGAL_ADDRESS" in broken.reason
    assert "earlier removal" in never.reason
    assert never.without_ns == []


def test_a_removal_that_kills_the_process_is_said(place: Workplace) -> None:
    text = SCRIPT + "    world.destroy_nodes = lambda *ignored: os.kill(os.getpid(), 9)\n"
    request = MeasureRequest(replays=5, removals=[("", "node:0"), ("", "node:1")])
    done = measured(place, text, request)
    assert done.code == 137
    found = only(done)
    assert found.replay_ns == [3_000] * 5
    (removal,) = found.removals
    assert removal.nodes == ["0"]
    assert "the process died" in removal.reason


def test_a_replay_that_kills_the_process_is_said(place: Workplace) -> None:
    text = SCRIPT + "    world.upload = lambda *ignored: os.kill(os.getpid(), 9)\n"
    done = measured(place, text, MeasureRequest(replays=5))
    assert done.code == 137
    found = only(done)
    assert found.replay_ns == []
    assert any("the process died" in note for note in found.notes)


def test_a_replay_that_never_ends_is_given_up(place: Workplace) -> None:
    text = (
        SCRIPT
        + """
    world.hangs_without = {0}
    from importlib import import_module
    import_module("_cudagraph_lens_capture.recorder.own.stopwatch").HUNG_AFTER_S = 0.3
    """
    )
    request = MeasureRequest(replays=5, removals=[("", "node:0")])
    done = measured(place, text, request)
    assert done.code == 75
    assert "leaving at once" in done.err
    (removal,) = only(done).removals
    assert "did not end" in removal.reason
    assert done.recording().processes[0].ended == "exit"


def test_a_script_that_broke_cuda_is_not_replayed(place: Workplace) -> None:
    text = (
        SCRIPT
        + """
    errors = sys.modules["_cudagraph_lens_capture.errors"]
    world.error = errors.DriverError("cuCtxSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")
    """
    )
    done = measured(place, text, MeasureRequest(replays=5))
    recording = done.recording()
    (info,) = recording.graphs.values()
    assert recording.benchmark(info.key) is None
    assert "left CUDA in an error" in info.evidence["benchmarks"].reason


def test_an_interrupted_script_is_not_kept_waiting(place: Workplace) -> None:
    done = measured(place, SCRIPT + "    raise KeyboardInterrupt\n", MeasureRequest(replays=5))
    assert done.code != 0
    (info,) = done.recording().graphs.values()
    assert "interrupted" in info.evidence["benchmarks"].reason


def test_a_forked_worker_measures_nothing_of_its_parent(place: Workplace) -> None:
    text = (
        SCRIPT
        + """
    pid = os.fork()
    if not pid:
        sys.exit(0)
    os.waitpid(pid, 0)
    """
    )
    done = measured(place, text, MeasureRequest(replays=5))
    assert done.err.count("measuring graph") == 1
    assert only(done).replay_ns == [3_000] * 5


def test_a_capture_that_fails_leaves_no_clone(place: Workplace) -> None:
    text = """
        import torch
        from cuda.bindings import driver
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                torch.launch().item()
        except RuntimeError:
            pass
        alive = set(driver.world()._clones) - driver.world().destroyed
        print(len(driver.world()._clones), len(alive))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.launch()
    """
    done = measured(place, text, MeasureRequest(replays=5))
    assert done.out == "1 0\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no request"),
        ('{"replays": 0}', "1 to 10,000"),
        ('{"replay": 3}', "replay"),
        ("[]", "no request"),
    ],
)
def test_requests_that_are_none(text: str, words: str) -> None:
    from capture.errors import WorkloadError
    from capture.measure_request import from_json

    with pytest.raises(WorkloadError, match=words):
        from_json(text)


def test_a_request_survives_the_environment() -> None:
    from capture.measure_request import from_json

    request = MeasureRequest(replays=9, removals=[("a#0", "type:memset")], graphs=["a#0"])
    text = request.to_json()
    assert from_json(text) == request
    fields: dict[str, Any] = json.loads(text)
    assert fields["replays"] == 9


def test_what_nodes_write_is_stored_beside_the_graph(place: Workplace) -> None:
    place.write("script.py", SCRIPT)
    done = place.record("--writes", "script.py")
    assert done.code == 0, done.err
    recording = done.recording()
    (key,) = recording.graphs
    found = recording.writes(key)
    assert found is not None
    assert (found.graph, found.ran, found.refused) == (key, ["0", "1", "2"], "")
    assert recording.graphs[key].evidence["writes"].present
    assert recording.graphs[key].evidence["memory"].present
    assert recording.benchmarked == []
