"""Which files a recording can make the dashboard read: none but those that the viewer allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capture.errors import GraphLensError
from capture.origins import Frame, Origins
from graphviz_app.source_access import (
    CHANGED,
    EDITORS,
    MAX_BYTES,
    STORED,
    SourceAccess,
    unusual,
)

SECRET = "password = 'hunter2'\n"


def naming(*files: str, **sources: str) -> Origins:
    """Return origins that name some files."""
    return Origins(graph="g", frames=[Frame(file, 1, "f") for file in files], sources=dict(sources))


def read(access: SourceAccess, file: str) -> tuple[tuple[str, ...], str]:
    found = access.read(file, naming(file))
    return found.lines, found.reason


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "secret.py").write_text(SECRET)
    return folder


def test_a_file_in_an_allowed_folder_is_read_and_said_to_be_of_now(root: Path) -> None:
    file = str(root / "model.py")
    found = SourceAccess([root]).read(file, naming(file))
    assert found.lines == ("x = 1", "y = 2")
    assert found.how == CHANGED
    assert found.path == file


def test_nothing_is_read_unless_a_folder_is_allowed(root: Path) -> None:
    lines, reason = read(SourceAccess(), str(root / "model.py"))
    assert lines == ()
    assert "--sources DIR" in reason


def test_what_the_recording_holds_needs_no_file_and_no_folder() -> None:
    origins = Origins(graph="g", sources={"/gone/model.py": "a\nb"})
    found = SourceAccess().read("/gone/model.py", origins)
    assert (found.lines, found.how) == (("a", "b"), STORED)


def test_a_file_that_no_node_comes_from_is_refused(root: Path) -> None:
    found = SourceAccess([root]).read(str(root / "model.py"), naming("/other/file.py"))
    assert found.lines == ()
    assert "no node of this graph comes from" in found.reason


@pytest.mark.parametrize(
    "file",
    [
        "/etc/passwd",
        "/proc/self/environ",
        "../secret.py",
        "{root}/../secret.py",
        "{above}/secret.py",
        "{root}/link.py",
        "{root}/folder.py",
        "{root}/pipe.py",
        "{root}/key.pem",
        "{root}/model.py/../../secret.py",
        "{root}/model.py\0.txt",
        "{root}/big.py",
        "{root}/binary.py",
        "{root}/named.py",
        "<string>",
        "<ipython-input-3-0123>",
        "",
        "model.py/",
        "~/model.py",
    ],
)
def test_files_that_a_hostile_recording_may_name_are_not_read(root: Path, file: str) -> None:
    (root / "link.py").symlink_to(root.parent / "secret.py")
    (root / "named.py").symlink_to(root / "key.pem")
    (root / "folder.py").mkdir()
    os.mkfifo(root / "pipe.py")
    (root / "key.pem").write_text(SECRET)
    (root / "big.py").write_text("#" * (MAX_BYTES + 1))
    (root / "binary.py").write_bytes(b"\xff\xfe\x00\x01" * 20)
    lines, reason = read(SourceAccess([root]), file.format(root=root, above=root.parent))
    if file == "~/model.py":
        # Not a home folder, but a file of that name under the allowed one.
        assert lines == ("x = 1", "y = 2")
        return
    assert lines == ()
    assert reason


def test_a_recording_from_elsewhere_finds_its_file_by_the_end_of_its_path(root: Path) -> None:
    (root / "pkg").mkdir()
    (root / "pkg" / "model.py").write_text("inner = True\n")
    access = SourceAccess([root])
    file = "/home/other/checkout/pkg/model.py"
    found = access.read(file, naming(file))
    assert found.lines == ("inner = True",)
    assert "found by its name" in found.how
    assert CHANGED in found.how
    windows = "C:\\work\\model.py"
    assert access.read(windows, naming(windows)).lines == ("x = 1", "y = 2")


def test_a_missing_file_says_where_it_was_looked_for(root: Path) -> None:
    _, reason = read(SourceAccess([root]), "/somewhere/other.py")
    assert str(root) in reason


def test_encodings_are_those_that_the_file_declares(root: Path) -> None:
    (root / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"))
    lines, _ = read(SourceAccess([root]), str(root / "latin.py"))
    assert lines[1] == "name = 'é'"


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphLensError, match="is no folder"):
        SourceAccess([tmp_path / "gone"])


def test_without_an_editor_there_is_no_link() -> None:
    assert SourceAccess().link("/home/me/model.py", 12) == ""


@pytest.mark.parametrize("editor", list(EDITORS))
def test_each_editor_gets_file_and_line(editor: str) -> None:
    link = SourceAccess(editor=editor).link("/home/me/a b/model.py", 12)
    assert "/home/me/a%20b/model.py" in link
    assert "12" in link


def test_an_editor_of_ones_own(root: Path) -> None:
    access = SourceAccess([root], editor="mine://at?f={file}&l={line}")
    assert access.link("C:\\work\\model.py", 3) == "mine://at?f=/C%3A/work/model.py&l=3"
    assert access.link("/recorded/model.py", 3, str(root / "model.py")) == (
        f"mine://at?f={root}/model.py&l=3"
    )


@pytest.mark.parametrize(
    "file", ["<string>", "relative.py", "//host/share/x.py", "\\\\host\\share\\x.py", ""]
)
def test_what_is_no_file_of_this_machine_gets_no_link(file: str) -> None:
    assert SourceAccess(editor="vscode").link(file, 1) == ""


@pytest.mark.parametrize(
    "editor", ["emacs", "javascript:alert('{file}')", "vscode://file", "{file}", "data:{file}"]
)
def test_an_editor_that_is_not_known_is_refused(editor: str) -> None:
    with pytest.raises(GraphLensError, match="CGLENS_EDITOR"):
        SourceAccess(editor=editor)


def test_unusual_files_are_named() -> None:
    assert unusual("/tmp/torchinductor_me/xy/cxy.py") == "generated by torch.compile"
    assert unusual("/tmp/ipykernel_77/123.py") == "a cell of a notebook"
    assert unusual("<frozen importlib._bootstrap>") == "code that was compiled from text"
    assert unusual("/home/me/train.py") == ""
