"""The command line: lazy, honest about errors, open to new commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from capture.errors import LookupFailed, NothingRecordedError
from graphviz_app import cli, commands
from graphviz_app.commands import Command, demo

HEAVY = ("dash", "plotly", "flask", "networkx", "numpy", "torch", "cuda", "waitress")


def _loaded_after(code: str) -> set[str]:
    program = (
        f"import sys\n{code}\n"
        f"print(' '.join(sorted(m for m in {HEAVY!r} if m in sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_loads_nothing_heavy() -> None:
    assert _loaded_after("from graphviz_app.cli import main; main(['--help'])") == set()


@pytest.mark.parametrize("name", sorted(cli.command_modules()))
def test_each_command_module_imports_light_and_is_described(name: str) -> None:
    module = cli.command_modules()[name]
    code = f"import importlib; m = importlib.import_module({module!r}); assert m.COMMAND.name"
    assert _loaded_after(code) == set()
    assert cli.summary(module).endswith((".", ".)")), "the docstring's first line is the summary"


def test_the_guard_sees_a_heavy_import() -> None:
    assert _loaded_after("import numpy") == {"numpy"}


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in cli.command_modules():
        assert f"\n  {name} " in shown


def test_a_dropped_in_command_appears_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "say_hello.py").write_text(
        '"""Greet whoever asks."""\n'
        "import click\n"
        "from graphviz_app.commands import Command\n"
        "@click.command()\n"
        "def hello() -> None:\n"
        "    click.echo('hello')\n"
        "COMMAND = Command(name='say-hello', command=hello)\n"
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert cli.main(["--help"]) == 0
    assert "Greet whoever asks." in capsys.readouterr().out
    assert cli.main(["say-hello"]) == 0
    assert capsys.readouterr().out == "hello\n"


def _with_command(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: fail)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (LookupFailed("no graph 'x'"), 1, "cglens: no graph 'x'\n"),
        (NothingRecordedError("two\nlines"), 4, "cglens: two lines\n"),
        (click.ClickException("sorry"), 1, "cglens: sorry\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_one_line_and_a_code(
    error: BaseException,
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _with_command(monkeypatch, error)
    assert cli.main(["fail"]) == code
    assert capsys.readouterr().err.lstrip("\n") == text


def test_a_script_exit_code_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    @click.pass_context
    def leave(ctx: click.Context) -> None:
        ctx.exit(3)

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: leave)
    assert cli.main(["leave"]) == 3


def test_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["nope"]) == 2
    assert "nope" in capsys.readouterr().err


def test_a_file_in_the_place_of_a_command_names_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.cgl"
    file.touch()
    assert cli.main([str(file)]) == 2
    assert f"cglens view {file}" in capsys.readouterr().err


def test_a_module_without_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hollow.py").write_text('"""Nothing here."""\n')
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert cli.main(["hollow"]) == 1
    assert "has no COMMAND" in capsys.readouterr().err


def test_commands_are_named_as_their_modules() -> None:
    import importlib

    for name, module in cli.command_modules().items():
        entry = importlib.import_module(module).COMMAND
        assert isinstance(entry, Command)
        assert entry.name == name


SAMPLE = demo.SAMPLES / "fork_join.cgl"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("args", [["info", str(SAMPLE)], ["--help"], ["export", "--help"]])
def test_a_full_disk_is_one_line(args: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "graphviz_app", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("cglens: No space left on device")


def test_an_error_of_a_file_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_command(monkeypatch, PermissionError(13, "Permission denied", "out.dot"))
    assert cli.main(["fail"]) == 1
    assert capsys.readouterr().err.startswith("cglens: Permission denied: out.dot; ")


def test_the_demo_opens_on_inference_and_has_every_sample() -> None:
    paths = demo.shipped()
    assert paths[0].stem == "transformer_inference"
    assert sorted(paths) == sorted(demo.SAMPLES.glob("*.cgl"))


def test_a_demo_without_samples_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "SAMPLES", tmp_path)
    assert cli.main(["demo", "--no-browser"]) == LookupFailed.exit_code
    assert "came without samples" in capsys.readouterr().err
