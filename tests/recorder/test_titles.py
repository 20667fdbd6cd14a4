"""What a recording is called, from the command that was recorded."""

from __future__ import annotations

import pytest

from capture.recorder.assemble import title_of


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ([], ""),
        (["examples/train_step.py", "--fast"], "train_step.py"),
        (["pkg.mod:step"], "pkg.mod:step"),
        (["-m", "tests.workloads", "gpt_train", "--replays", "20"], "tests.workloads gpt_train"),
        (["-m", "pkg.train", "--steps", "3"], "pkg.train"),
        (["-m"], "-m"),
    ],
)
def test_titles_name_the_workload(command: list[str], title: str) -> None:
    assert title_of(command) == title
