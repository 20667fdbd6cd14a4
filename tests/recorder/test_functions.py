"""Functions that are captured for the user: MODULE:FUNCTION, workload(), and the Python names."""

from __future__ import annotations

import pytest

from tests.recorder.conftest import Workplace

MODEL = """
    import sys, torch
    state = torch.Tensor()
    calls = []

    def step():
        calls.append(1)
        torch.launch(kernel="first")
        result = torch.Tensor()
        return torch.launch(result)

    def counting():
        return torch.launch(state)

    class Model:
        def forward(self):
            return torch.launch()
        def __call__(self):
            return self.forward()

    model = Model()
    number = 3

    def own():
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            torch.launch()

    def build():
        g = torch.cuda.CUDAGraph(keep_graph=True)
        from cuda.bindings import driver
        from importlib import import_module
        world = driver.world()
        model, kernels = torch.cuda.graphs._model()
        return world.build(
            model.Graph(topology=model.Topology(types=["empty", "empty"]), payloads=[None, None])
        )

    def fails():
        raise ValueError("in the function")

    def syncs():
        torch.launch().item()
"""


@pytest.mark.parametrize("target", ["model:step", "model.py:step"])
def test_function_is_warmed_up_captured_and_replayed(place: Workplace, target: str) -> None:
    place.write("model.py", MODEL)
    done = place.record(target)
    assert done.code == 0, done.err
    recording = done.recording()
    (info,) = recording.graphs.values()
    assert info.key == "model.py:step#0"
    assert info.how == "captured"
    assert info.node_count == 2
    assert info.place is not None
    assert info.place.function == "step"
    assert [item.replays for item in recording.executables] == [3]


@pytest.mark.parametrize(
    ("function", "result"), [("step", "differs"), ("counting", "differs"), ("model", "equal")]
)
def test_replay_is_compared_with_eager(place: Workplace, function: str, result: str) -> None:
    # step's result outlives its call in the graph, so each replay adds once more.
    place.write("model.py", MODEL.replace("return torch.launch()", "return torch.Tensor(2)"))
    done = place.record(f"model:{function}")
    assert done.code == 0, done.err
    (info,) = done.recording().graphs.values()
    assert info.extra["eager"]["result"] == result
    assert info.extra["eager"]["note"]


def test_function_without_a_tensor_is_not_comparable(place: Workplace) -> None:
    place.write("model.py", MODEL + "\n    def nothing():\n        torch.launch()\n")
    done = place.record("model:nothing")
    assert done.code == 0, done.err
    (info,) = done.recording().graphs.values()
    assert info.extra["eager"]["result"] == "not comparable"


def test_function_that_captures_itself_is_only_observed(place: Workplace) -> None:
    place.write("model.py", MODEL)
    done = place.record("model:own")
    assert done.code == 0, done.err
    (info,) = done.recording().graphs.values()
    assert (info.key, info.how) == ("model.py:own#0", "observed")


def test_function_that_returns_a_handle_has_built_the_graph(place: Workplace) -> None:
    place.write("model.py", MODEL)
    done = place.record("model:build")
    assert done.code == 0, done.err
    recording = done.recording()
    (info,) = recording.graphs.values()
    assert (info.how, info.name, info.node_count) == ("handle", "build", 2)
    assert info.key == "model.py:build"
    assert recording.graph(info.key).topology.types == ["empty", "empty"]


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        ("model:fails", 1, "ValueError: in the function"),
        ("model:syncs", 1, "not permitted when stream is capturing"),
        ("model:absent", 1, "has no 'absent'"),
        ("model:number", 1, "is a int, no function"),
        ("nothing_here:step", 1, "there is no module 'nothing_here'"),
        ("broken:step", 1, "ModuleNotFoundError: No module named 'of_its_own'"),
    ],
)
def test_bad_function(place: Workplace, target: str, code: int, words: str) -> None:
    place.write("model.py", MODEL)
    place.write("broken.py", "import of_its_own")
    done = place.record(target)
    assert done.code == code
    assert words in done.err
    assert "runner.py" not in done.err
    assert ("Traceback" in done.err) == ("Error" in words or "permitted" in words)


def test_failed_capture_of_a_function_is_kept(place: Workplace) -> None:
    place.write("model.py", MODEL)
    done = place.record("model:syncs")
    (info,) = done.recording().failed.values()
    assert info.failure is not None
    assert info.failure.place is not None
    assert info.failure.place.function == "syncs"
    assert info.node_count == 1


@pytest.mark.parametrize(
    ("variable", "words"), [("NO_GPU", "no CUDA device"), ("NO_DRIVER", "no CUDA driver")]
)
def test_no_gpu_is_one_line(place: Workplace, variable: str, words: str) -> None:
    place.write("model.py", MODEL)
    done = place.record("model:step", env={variable: "1"})
    assert done.code == 1, done.err
    assert words in done.err
    assert "Traceback" not in done.err


def test_script_with_a_workload_that_captures_nothing(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        import sys, torch
        print(sys.argv, sys.path[0], __name__, __file__, __spec__, sys.modules["__main__"].__file__)

        def workload():
            return torch.launch()
        if len(sys.argv) > 1:
            sys.exit(int(sys.argv[1]))
        """,
    )
    plain, done = place.python("script.py"), place.record("script.py")
    assert done.code == 0, done.err
    assert done.out == plain.out
    (info,) = done.recording().graphs.values()
    assert info.key == "script.py:workload#0"
    assert place.cglens("record", "-o", "zero.cgl", "script.py", "0").code == 0
    refused = place.cglens("record", "-o", "seven.cgl", "script.py", "7")
    assert refused.code == 7
    assert not (place.folder / "seven.cgl").exists()


def test_script_with_a_workload_that_captures_is_only_observed(place: Workplace) -> None:
    recording = place.recorded(
        """
        import torch
        def workload():
            raise AssertionError("never called")
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            torch.launch()
        """
    )
    assert [info.how for info in recording.graphs.values()] == ["observed"]


def test_script_with_a_workload_fails_as_by_itself(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        def workload():
            pass
        def inner():
            raise ValueError("mine")
        inner()
        """,
    )
    plain, done = place.python("script.py"), place.record("script.py")
    assert done.code == plain.code == 1
    assert done.err.startswith(plain.err)


def test_record_in_python(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        import capture, torch
        original = torch.cuda.CUDAGraph.replay
        early = torch.cuda.CUDAGraph()
        with torch.cuda.graph(early):
            torch.launch()
        with capture.record("first.cgl"):
            with capture.record("second.cgl"):
                g = torch.cuda.CUDAGraph()
                with torch.cuda.graph(g):
                    torch.launch()
                early.replay()
            g.replay()
        assert torch.cuda.CUDAGraph.replay is original
        first, second = capture.read("first.cgl"), capture.read("second.cgl")
        print([(item.replays, item.ended) for item in first.executables])
        print([item.replays for item in second.executables], second.processes[0].warnings)
        try:
            with capture.record("first.cgl"):
                raise AssertionError("never entered")
        except capture.errors.OutputError as error:
            print("refused", error)
        try:
            with capture.record("empty.cgl"):
                pass
        except capture.errors.NothingRecordedError:
            print("nothing")
        try:
            with capture.record("left.cgl"):
                h = torch.cuda.CUDAGraph()
                with torch.cuda.graph(h):
                    torch.launch()
                raise KeyError("mine")
        except KeyError:
            print(len(capture.read("left.cgl").graphs))
        """,
    )
    done = place.python("script.py")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "[(1, 'alive at exit')]"
    assert lines[1].startswith("[0] ['1 replays were of graphs captured before")
    assert lines[2].startswith("refused first.cgl exists")
    assert lines[3:] == ["nothing", "1"]
    assert sorted(path.name for path in place.folder.glob("*.cgl*")) == [
        "first.cgl",
        "left.cgl",
        "second.cgl",
    ]


def test_capture_and_from_graph_in_python(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        import capture, torch
        def work(x, amount=1.0):
            return torch.launch(x, amount)
        x = torch.Tensor()
        recording = capture.capture(work, x, amount=2.0, warmup=2, replays=2)
        (info,) = recording.graphs.values()
        print(info.key, info.node_count, x.value, recording.executables[0].replays)
        print(recording.graph(info.key).payloads[0].kernel.name)
        g = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(g):
            torch.launch()
        read = capture.from_graph(g)
        print(len(read), capture.from_graph(g.raw_cuda_graph()) == read)
        for wrong in (torch.cuda.CUDAGraph(), "text", True):
            try:
                capture.from_graph(wrong)
            except capture.errors.WorkloadError as error:
                print(str(error)[:40])
        try:
            capture.capture(lambda: 1 / 0)
        except ZeroDivisionError:
            print("through")
        """,
    )
    done = place.python("script.py")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    # Two warm-ups, two replays and one eager call of 2.0 each; nothing happens while capturing.
    assert lines[0] == "script.py:work#0 1 10.0 2"
    assert lines[1] == "add"
    assert lines[2] == "1 True"
    assert lines[3:6] == [
        "this CUDAGraph no longer has its CUgraph",
        "a str is no graph: expected a torch.cuda",
        "a bool is no graph: expected a torch.cud",
    ]
    assert lines[6] == "through"


def test_a_torch_without_cuda_and_no_torch_are_told_apart(place: Workplace) -> None:
    place.write("model.py", "def step():\n    pass\n")
    place.write("torch.py", "raise ImportError('no torch', name='torch')")
    done = place.record("model:step")
    assert done.code == 1
    assert "torch is not installed" in done.err
    assert "2.6 or newer" in done.err
    (place.folder / "torch.py").unlink()
    # The environment's own torch, which is a CPU build where this test means something.
    place.environment.pop("PYTHONPATH")
    import torch

    if torch.version.cuda is None:
        done = place.record("model:step")
        assert done.code == 1
        assert "built without CUDA" in done.err
