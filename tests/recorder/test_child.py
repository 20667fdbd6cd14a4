"""The child process: recording changes nothing, and each bad end is one line and its code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from capture.recorder.folder import still_recording
from tests.recorder.conftest import Workplace

TELL = """
    import json, os, sys
    import sitecustomize_probe
    print(json.dumps({
        "argv": sys.argv,
        "path": sys.path,
        "name": __name__,
        "file": __file__,
        "package": __package__,
        "spec": __spec__ and __spec__.name,
        "stdin": sys.stdin.read(),
        "cwd": os.getcwd(),
        "flags": list(sys.flags),
        "site": sitecustomize_probe.found,
        "environment": {
            key: value for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "CGLENS_RECORD")
        },
    }))
    sys.stderr.write("on stderr\\n")
    sys.exit(3)
"""
PROBE = """
    import sys
    found = getattr(sys.modules.get("sitecustomize"), "__file__", None)
"""


@pytest.mark.parametrize("how", ["script", "module", "folder"])
def test_recording_changes_nothing_that_a_script_sees(place: Workplace, how: str) -> None:
    place.write("sitecustomize_probe.py", PROBE)
    place.write("pkg/__init__.py", "")
    place.write("pkg/__main__.py", TELL)
    place.write("pkg/sitecustomize_probe.py", PROBE)
    place.write("tell.py", TELL)
    command = {
        "script": ["tell.py", "-o", "x", "--force", "--", "a b"],
        "module": ["-m", "pkg", "-m", "--help"],
        "folder": ["pkg", "1"],
    }[how]
    plain = place.python(*command, input="some\nlines")
    done = place.record(*command, input="some\nlines")
    assert plain.code == done.code == 3, plain.err
    assert json.loads(done.out) == json.loads(plain.out)
    assert done.err.startswith(plain.err)
    assert done.err.count("\n") == plain.err.count("\n") + 1  # our one line


def test_the_environments_own_sitecustomize_still_runs(place: Workplace) -> None:
    place.write("mine/sitecustomize.py", "import sys; sys.was_here = __file__\n")
    place.write("script.py", "import sys, sitecustomize; print(sys.was_here, sitecustomize)\n")
    place.environment["PYTHONPATH"] += os.pathsep + str(place.folder / "mine")
    plain, done = place.python("script.py"), place.record("script.py")
    assert plain.code == 0
    assert "mine" in plain.out
    assert done.out == plain.out


def test_a_users_own_capture_module_wins(place: Workplace) -> None:
    place.write("capture.py", "WHOSE = 'mine'\n")
    recording = place.recorded(
        """
        import capture
        assert capture.WHOSE == "mine"
        import torch
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            torch.launch()
        import capture as again
        assert again.WHOSE == "mine"
        """
    )
    assert len(recording.graphs) == 1


@pytest.mark.parametrize("first", ["capture", "torch"])
def test_importing_capture_gives_the_package_that_is_recording(
    place: Workplace, first: str
) -> None:
    recording = place.recorded(
        f"""
        import {first}
        import torch, capture, sys
        import capture.model
        from capture.errors import GraphLensError
        with capture.record("inner.cgl"):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                torch.launch()
        h = torch.cuda.CUDAGraph()
        with torch.cuda.graph(h):
            torch.launch(); torch.launch()
        assert capture is sys.modules["_cudagraph_lens_capture"]
        assert capture.model is sys.modules["_cudagraph_lens_capture.model"]
        assert len(capture.read("inner.cgl").graphs) == 1
        """
    )
    assert [info.node_count for info in recording.graphs.values()] == [1, 2]


def test_the_exit_code_is_the_scripts(place: Workplace) -> None:
    cases = {
        "import sys; sys.exit(3)": 3,
        "import os; os._exit(5)": 5,
        "raise SystemExit('words')": 1,
        "raise ValueError('mine')": 1,
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": 137,
        "import ctypes; ctypes.string_at(0)": 139,
    }
    for text, code in cases.items():
        place.write("script.py", text)
        done = place.record("script.py")
        assert done.code == code, (text, done.err)
        last = done.err.strip().splitlines()[-1]
        assert last.startswith("cglens: nothing was recorded"), done.err
        assert f"exit code {code}" in last
        assert list(place.folder.glob("out.cgl*")) == []


GRAPH = """
    import torch, sys, os
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        torch.launch()
    g.replay()
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os._exit(5)", 5),
        ("import ctypes; ctypes.string_at(0)", 139),
        ("import signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_a_process_that_vanishes_leaves_its_graphs(place: Workplace, end: str, code: int) -> None:
    place.write("script.py", GRAPH + f"    {end}\n")
    done = place.record("script.py")
    assert done.code == code
    recording = done.recording()
    assert len(recording.graphs) == 1
    assert len(recording.graph(next(iter(recording.graphs)))) == 1
    assert not recording.metadata.complete
    assert recording.processes[0].ended == "lost"
    assert "vanished" in done.err


def test_a_syntax_error_is_pythons_own(place: Workplace) -> None:
    place.write("script.py", "def broken(:\n")
    plain, done = place.python("script.py"), place.record("script.py")
    assert done.code == plain.code == 1
    assert done.err.startswith(plain.err)


def test_an_import_error_is_pythons_own(place: Workplace) -> None:
    plain, done = place.python("-m", "no_such"), place.record("-m", "no_such")
    assert done.code == plain.code == 1
    assert done.err.startswith(plain.err)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere.py", "no such file"),
        ("a_folder", "__main__.py"),
        ("binary.py", "no Python script"),
        ("gone.py:step", "no file gone.py"),
        ("--output=x", "no such"),
    ],
)
def test_what_is_no_script_is_one_line(place: Workplace, target: str, words: str) -> None:
    (place.folder / "a_folder").mkdir()
    (place.folder / "binary.py").write_bytes(b"\x7fELF\0\0\0")
    done = place.cglens("record", target) if target.startswith("-") else place.record(target)
    assert done.code in (1, 2)
    assert words in done.err or done.code == 2
    assert "Traceback" not in done.err
    assert list(place.folder.glob("*.cgl*")) == []


@pytest.mark.parametrize("case", ["exists", "folder", "nowhere", "unfinished"])
def test_an_unwritable_output_is_refused_before_the_script_runs(
    place: Workplace, case: str
) -> None:
    place.write("script.py", "print('ran')")
    output = {"nowhere": "no/such/out.cgl"}.get(case, "out.cgl")
    if case == "exists":
        place.write("out.cgl", "precious")
    elif case == "folder":
        (place.folder / "out.cgl").mkdir()
    elif case == "unfinished":
        (place.folder / "out.cgl.recording").mkdir()
    before = sorted(str(path) for path in place.folder.rglob("*"))
    done = place.cglens("record", "-o", output, "script.py")
    assert done.code == 1
    assert done.out == ""
    assert len(done.err.splitlines()) == 1, done.err
    assert sorted(str(path) for path in place.folder.rglob("*")) == before


def test_force_replaces_a_recording(place: Workplace) -> None:
    place.write("out.cgl", "old")
    place.write("script.py", GRAPH)
    done = place.cglens("record", "-o", "out.cgl", "--force", "script.py")
    assert done.code == 0, done.err
    assert len(done.recording().graphs) == 1


def test_a_script_without_a_graph_says_what_to_do(place: Workplace) -> None:
    place.write("script.py", "print('hello')")
    done = place.record("script.py")
    assert done.code == 4
    assert "no process imported torch" in done.err
    place.write("script.py", "import torch")
    done = place.record("script.py")
    assert done.code == 4
    assert "captured no CUDA graph" in done.err
    assert "workload()" in done.err
    assert list(place.folder.glob("out.cgl*")) == []


def test_a_script_that_failed_gets_no_advice_besides(place: Workplace) -> None:
    place.write("script.py", "import sys; sys.exit('no such checkpoint')")
    done = place.record("script.py")
    assert done.code == 1
    assert done.err.splitlines() == [
        "no such checkpoint",
        "cglens: nothing was recorded: the workload failed before it captured a CUDA graph "
        "(the workload ended with exit code 1)",
    ]


def test_real_torch_is_hooked_as_soon_as_it_is_imported(place: Workplace) -> None:
    import torch

    place.environment["PYTHONPATH"] = str(place.folder)
    place.write(
        "script.py",
        """
        import sys
        assert not any(name.startswith("_cudagraph_lens") for name in sys.modules)
        import torch
        assert torch.cuda.CUDAGraph.replay.__wrapped__
        assert torch.cuda.graphs.__spec__.loader is torch.cuda.graphs.__loader__
        print(type(torch.cuda.graphs.__loader__).__name__)
        """,
    )
    done = place.record("script.py")
    assert done.out == "SourceFileLoader\n", done.err
    assert done.code == 4
    if torch.version.cuda is None:
        assert "is built without CUDA" in done.err


def test_an_environment_without_msgspec_runs_and_says_so(place: Workplace) -> None:
    place.write("msgspec.py", "raise ImportError('not here', name='msgspec')")
    place.write("torch/__init__.py", "")
    place.write("torch/cuda/__init__.py", "")
    place.write("torch/cuda/graphs.py", "class CUDAGraph:\n    pass\n")
    place.write("script.py", "import torch.cuda.graphs; print('ran')")
    done = place.record("script.py")
    assert done.out == "ran\n"
    assert done.code == 4
    assert "msgspec is not installed for" in done.err


def test_the_default_output_is_named_after_the_script(place: Workplace) -> None:
    place.write("bench/model.py", GRAPH)
    assert place.cglens("record", "bench/model.py").code == 0
    assert (place.folder / "model.cgl").is_file()


def test_a_forked_child_has_a_journal_of_its_own(place: Workplace) -> None:
    recording = place.recorded(
        """
        import os, torch
        def make(count):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                for _ in range(count):
                    torch.launch()
            g.replay()
            return g
        kept = make(1)
        pid = os.fork()
        if pid == 0:
            other = make(2)
            raise SystemExit(0)
        os.waitpid(pid, 0)
        silent = os.fork()
        if silent == 0:
            os._exit(0)
        os.waitpid(silent, 0)
        kept.replay()
        """
    )
    assert list(recording.graphs) == ["script.py:make#0", "script.py:make#0@2"]
    assert [info.node_count for info in recording.graphs.values()] == [1, 2]
    assert [info.process for info in recording.graphs.values()] == [0, 1]
    assert len(recording.processes) == 2
    assert len({process.pid for process in recording.processes}) == 2
    assert [item.replays for item in recording.executables] == [2, 1]
    assert recording.metadata.complete


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing_close_their_journals(place: Workplace, method: str) -> None:
    recording = place.recorded(
        f"""
        import multiprocessing
        def work():
            import torch
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                torch.launch()
            for _ in range(7):
                g.replay()
        if __name__ == "__main__":
            import torch
            context = multiprocessing.get_context("{method}")
            process = context.Process(target=work)
            process.start()
            process.join()
            assert process.exitcode == 0
        """
    )
    assert len(recording.graphs) == 1
    assert [item.replays for item in recording.executables] == [7]
    assert recording.metadata.complete


def test_grandchildren_are_recorded(place: Workplace) -> None:
    place.write("inner.py", GRAPH)
    recording = place.recorded(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "inner.py"], check=True)
        subprocess.run([sys.executable, "-I", "-c", "print('isolated')"], check=True)
        """
    )
    assert [info.key for info in recording.graphs.values()] == ["inner.py:module#0"]
    assert len(recording.processes) == 1


def test_ctrl_c_reaches_the_child_and_the_recording_is_made(place: Workplace) -> None:
    place.write(
        "script.py",
        GRAPH
        + """
    import time
    open("ready", "w").close()
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted once", flush=True)
        raise
    """,
    )
    command = [sys.executable, "-P", "-m", "graphviz_app", "record", "-o", "out.cgl", "script.py"]
    process = subprocess.Popen(
        command,
        cwd=place.folder,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(place.folder / "ready")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == "interrupted once\n"
    assert "recorded 1 graph" in err
    assert (place.folder / "out.cgl").is_file()
    assert not (place.folder / "out.cgl.recording").exists()


def test_a_killed_recorder_leaves_what_recover_needs(place: Workplace) -> None:
    place.write(
        "script.py",
        GRAPH
        + """
    import time
    open("ready", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.02)
    g.replay()
    """,
    )
    command = [sys.executable, "-P", "-m", "graphviz_app", "record", "-o", "out.cgl", "script.py"]
    process = subprocess.Popen(command, cwd=place.folder, env=place.environment)
    wait_for(place.folder / "ready")
    running = place.cglens("recover", "out.cgl.recording")
    assert running.code == 1
    assert "still being recorded" in running.err
    process.kill()
    process.wait()
    # The script itself goes on to its end, and nothing is taken from under it.
    orphan = place.cglens("recover", "out.cgl.recording")
    assert orphan.code == 1
    assert "still being recorded" in orphan.err
    place.write("go", "")
    (journal,) = (place.folder / "out.cgl.recording").glob("journal-*")
    wait_until(lambda: b'"kind":"end"' in journal.read_bytes())
    wait_until(lambda: not still_recording(place.folder / "out.cgl.recording"))
    done = place.cglens("recover", "out.cgl.recording")
    assert done.code == 0, done.err
    recording = done.recording()
    assert len(recording.graphs) == 1
    assert [item.replays for item in recording.executables] == [2]
    assert not recording.metadata.complete
    assert recording.metadata.exit_code is None
    assert not (place.folder / "out.cgl.recording").exists()


def test_recover_of_something_else_is_one_line(place: Workplace) -> None:
    (place.folder / "x.recording").mkdir()
    for target in ("nowhere", "x.recording"):
        done = place.cglens("recover", target)
        assert done.code == 1
        assert len(done.err.splitlines()) == 1
    assert (place.folder / "x.recording").is_dir()


def wait_for(path: Path) -> None:
    wait_until(path.exists)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_full_disk_stops_the_recording_and_not_the_script(place: Workplace) -> None:
    # A limit on file size stands for the disk: the same error path, EFBIG instead of ENOSPC.
    place.write(
        "script.py",
        """
    import resource, signal, torch
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
    for i in range(40):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            torch.launch(kernel=f"kernel_{i}")
        g.replay()
    print("unharmed")
    """,
    )
    done = place.record("script.py")
    assert done.code == 0, done.err
    assert done.out == "unharmed\n"
    assert "the recording stopped early" in done.err
    recording = done.recording()
    assert 0 < len(recording.graphs) < 40
    assert not recording.metadata.complete
