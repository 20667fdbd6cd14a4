"""`cglens ready`: what it prints, and what its exit code says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from capture.recorder.readiness import (
    DONE,
    FAILED,
    LOST,
    STOPPED,
    Failure,
    Readiness,
    Region,
    Spot,
    Trouble,
)
from graphviz_app import cli
from graphviz_app.commands import ready

ROOT = Path(__file__).resolve().parents[2]
BAD = ROOT / "tests" / "ready" / "bad"


def cglens(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graphviz_app", "ready", *words],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module of functions, one of which has two problems."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "model.py").write_text(
        "import torch\n"
        "layer = torch.nn.Linear(4, 4).cuda()\n"
        "x = torch.randn(2, 4, device='cuda')\n"
        "calls = []\n"
        "class Model:\n"
        "    @staticmethod\n"
        "    def step():\n"
        "        print('stepping')\n"
        "        if layer(x).sum() > 0:\n"
        "            return layer(x)[x > 0]\n"
        "        return x\n"
        "def unknown():\n"
        "    raise LookupError('no weights here')\n"
        "def endless():\n"
        "    while True:\n"
        "        layer(x)\n",
        encoding="utf-8",
    )
    (folder / "words.py").write_text(
        "import sys, torch\n"
        "assert sys.argv[1:] == ['function', '--json'], sys.argv\n"
        "assert __name__ == '__main__'\n"
        "x = torch.randn(3, device='cuda')\n"
        "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n"
        "    y = x + 1\n",
        encoding="utf-8",
    )
    (folder / "plain.py").write_text("import torch\ntorch.randn(3).sum()\n", encoding="utf-8")
    return folder


def test_a_function_with_two_problems(mixed: Path) -> None:
    done = cglens("model:Model.step", cwd=mixed)
    assert done.returncode == 1, done.stderr
    assert "model.py:9 in step" in done.stdout
    assert "if layer(x).sum() > 0:" in done.stdout
    assert "model.py:10 in step" in done.stdout
    assert "2 things would break a capture, in 1 place" in done.stdout
    assert "What this run cannot know" in done.stdout
    assert "stepping" not in done.stdout
    assert "stepping" in done.stderr


def test_json_is_the_only_thing_on_standard_output(mixed: Path) -> None:
    done = cglens("--json", "model.py:Model.step", cwd=mixed)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == 1
    assert [trouble["kind"] for trouble in document["found"]] == ["host_sync", "host_sync"]
    assert document["found"][0]["title"] == "Host synchronisation"
    assert document["regions"][0]["name"] == "Model.step"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model:unknown"], "LookupError: no weights here"),
        (["plain.py"], "captured no graph"),
        (["--limit", "3", "model:endless"], "stopped before its end"),
        (["model:nothing"], "no attribute 'nothing'"),
        (["nowhere:step"], "nowhere"),
    ],
)
def test_what_cannot_be_told_is_2(mixed: Path, words: list[str], said: str) -> None:
    done = cglens(*words, cwd=mixed)
    assert done.returncode == 2, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize("how", [["words.py"], ["-m", "words"]])
def test_the_workloads_own_words_are_left_alone(mixed: Path, how: list[str]) -> None:
    done = cglens(*how, "function", "--json", cwd=mixed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was found" in done.stdout


def test_a_missing_script_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ready", "no/such/file.py"]) == 1
    assert "no such file" in capsys.readouterr().err


REGION = Region(name="torch.cuda.CUDAGraph", spot=Spot("/a/train.py", 3), times=1, operators=5)
TROUBLE = Trouble(
    kind="host_sync",
    call="Tensor.item",
    operator="aten._local_scalar_dense",
    why="it waits",
    instead="do not",
    stack=[Spot("/a/model.py", 7, "forward"), Spot("/a/train.py", 4)],
    times=3,
    guessed=True,
)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (Readiness(target="t", regions=[REGION], ended=DONE), 0),
        (Readiness(target="t", regions=[REGION], found=[TROUBLE], ended=DONE), 1),
        (Readiness(target="t", regions=[REGION], found=[TROUBLE], ended=FAILED), 1),
        (Readiness(target="t", regions=[REGION], ended=FAILED), 2),
        (Readiness(target="t", regions=[REGION], ended=STOPPED), 2),
        (Readiness(target="t", ended=DONE), 2),
        (Readiness(target="t", ended=LOST), 2),
    ],
)
def test_the_exit_code_says_what_is_known(found: Readiness, code: int) -> None:
    assert found.exit_code == code


def test_the_text_has_what_is_needed_to_repair_it() -> None:
    failure = Failure(error="KeyError", message="'x'", stack=[Spot("/a/train.py", 9)])
    found = Readiness(
        target="t",
        regions=[REGION],
        found=[TROUBLE],
        limits=["Values."],
        guesses=2,
        ended=FAILED,
        failure=failure,
    )
    text = "\n".join(ready.lines(found))
    for part in (
        "Host synchronisation: /a/model.py:7 in forward, 3 times",
        "Tensor.item (aten._local_scalar_dense): it waits.",
        "Instead: do not.",
        "Called from /a/train.py:4.",
        "made-up result",
        "https://",
        "checked: torch.cuda.CUDAGraph at /a/train.py:3, 1 pass, 5 operators",
        "KeyError: 'x'",
        "2 values and shapes were made up",
    ):
        assert part in text
    assert "could not be told" not in text


def test_a_kind_that_this_version_does_not_know_is_shown() -> None:
    strange = Trouble(kind="of_tomorrow", call="f", why="because", instead="otherwise")
    found = Readiness(target="t", regions=[REGION], found=[strange], ended=DONE)
    assert "f: because." in "\n".join(ready.lines(found))
