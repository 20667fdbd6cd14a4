"""`cglens view --sources`: which folders the dashboard may read, as the command line says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capture
from graphviz_app import cli, server
from graphviz_app.commands import _serve
from graphviz_app.store import Store
from tests.helpers import origins


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """Catch the store that would be served."""
    found: list[Store] = []
    made = Store.open

    def catch(*arguments: Any) -> Store:
        found.append(made(*arguments))
        return found[-1]

    monkeypatch.setattr(Store, "open", catch)
    monkeypatch.setattr(server, "serve", lambda app, settings: None)
    monkeypatch.delenv("CGLENS_EDITOR", raising=False)
    return found


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "run.cgl"
    capture.write(origins.recording(origins.transformer(1, sources=False)), path)
    return path


def test_view_reads_no_source_unless_a_folder_is_given(
    opened: list[Store], packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["view", str(packed)]) == 0
    assert cli.main(["view", "--sources", str(tmp_path), str(packed)]) == 0
    assert [store.sources.roots for store in opened] == [[], [tmp_path]]


def test_a_folder_or_an_editor_that_is_none_is_an_error(
    opened: list[Store],
    packed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["view", "--sources", str(packed), str(packed)]) != 0
    assert "is no folder" in capsys.readouterr().err
    monkeypatch.setenv("CGLENS_EDITOR", "ed")
    assert cli.main(["view", str(packed)]) != 0
    assert "CGLENS_EDITOR is 'ed'" in capsys.readouterr().err
    monkeypatch.setenv("CGLENS_EDITOR", "pycharm")
    assert cli.main(["view", str(packed)]) == 0
    assert opened[-1].sources.link("/a.py", 3) == "pycharm://open?file=/a.py&line=3"


@pytest.mark.parametrize(("host", "allowed"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_a_workload_recorded_just_now_shows_its_sources_to_this_machine_alone(
    opened: list[Store], packed: Path, tmp_path: Path, host: str, allowed: bool
) -> None:
    options: dict[str, Any] = {
        "host": host,
        "port": 0,
        "no_browser": True,
        "allow_hosts": (),
        "prefix": "/",
    }
    _serve.run_dashboard([packed], recorded_in=[tmp_path, tmp_path / "gone"], **options)
    assert opened[-1].sources.roots == ([tmp_path] if allowed else [])
