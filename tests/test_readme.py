"""What the README says, and where else commands are named: they exist, and print what is shown."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from graphviz_app.cli import cglens, main

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = ROOT / "graphviz_app" / "samples"
SKIPPED = "  ..."
"""Stands in an output for lines that are left out."""


def sessions() -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command of the README, as words, with the lines of output below it."""
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, _, output = part.replace("\\\n", " ").partition("\n")
            yield shlex.split(typed, comments=True), output.splitlines()


COMMANDS = [words[1:] for words, _ in sessions() if words[0] == "cglens"]
SHOWN = [
    (words[1:], lines)
    for words, lines in sessions()
    if words[0] == "cglens" and lines and lines != [""]
]


def words_of(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_takes_its_options(words: list[str]) -> None:
    context = click.Context(cglens)
    name, command, rest = cglens.resolve_command(context, list(words))
    assert name is not None
    assert command is not None
    command.make_context(name, rest, parent=context)


@pytest.mark.parametrize(("words", "lines"), SHOWN, ids=lambda item: " ".join(item)[:60])
def test_an_output_is_what_is_printed(
    words: list[str],
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in {word for word in words if word.endswith(".cgl")}:
        shutil.copy(SAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    printed = words_of(capsys.readouterr().out)
    shown = words_of("\n".join(line for line in lines if line != SKIPPED))
    for line in lines if SKIPPED in lines or "compare" in words else [shown]:
        if line != SKIPPED:
            assert words_of(line) in printed


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_a_link_leads_to_a_file(path: str) -> None:
    if not path.startswith("https://"):
        assert (ROOT / path).exists()


def test_examples_of_python_use_names_that_there_are() -> None:
    import capture

    for name in re.findall(r"\bcapture\.(\w+)\(", TEXT):
        assert hasattr(capture, name), name


def named() -> Iterator[tuple[Path, str, str]]:
    """Yield each command with an option that a page or a message names in backticks."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("tests/*/README.md")]
    sources = [path for name in ("capture", "graphviz_app") for path in (ROOT / name).rglob("*.py")]
    for path in [*pages, *sources]:
        text = path.read_text(encoding="utf-8")
        for line in re.findall(r"`cglens ([^`\n]+)`", text):
            command, _, rest = line.partition(" ")
            for option in re.findall(r"(?<!\S)--[a-z-]+", rest):
                yield path, command, option


def test_options_that_are_named_anywhere_exist() -> None:
    found = list(named())
    assert len(found) > 20
    context = click.Context(cglens)
    wrong = []
    for path, name, wanted in found:
        command = cglens.get_command(context, name)
        known = {
            option
            for param in (command.params if command else ())
            for option in (*param.opts, *param.secondary_opts)
        }
        if wanted not in known:
            wrong.append((str(path.relative_to(ROOT)), name, wanted))
    assert wrong == []
