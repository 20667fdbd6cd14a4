"""Which source files the dashboard may read, and links that open them in an editor.

A recording comes from anywhere and names any file as the place of a node. So a file is read only
when the viewer allowed its folder, it is Python text of bounded size, and it really lies in that
folder once links are followed. What was stored in the recording needs no file at all.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from capture.errors import GraphLensError
from capture.origins import Origins

MAX_BYTES = 2 * 1024**2
SUFFIX = ".py"
EDITOR = "CGLENS_EDITOR"
EDITORS: Mapping[str, str] = {
    "vscode": "vscode://file{file}:{line}",
    "vscode-insiders": "vscode-insiders://file{file}:{line}",
    "vscodium": "vscodium://file{file}:{line}",
    "cursor": "cursor://file{file}:{line}",
    "windsurf": "windsurf://file{file}:{line}",
    "zed": "zed://file{file}:{line}",
    "pycharm": "pycharm://open?file={file}&line={line}",
    "idea": "idea://open?file={file}&line={line}",
    "sublime": "subl://open?url=file://{file}&line={line}",
    "textmate": "txmt://open?url=file://{file}&line={line}",
}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_REFUSED = {"javascript", "data", "vbscript", "blob", "about", "file"}
STORED = "stored with the recording"
CHANGED = "read from this machine, and may have changed since the recording"


@dataclass(frozen=True)
class SourceText:
    """A file's text, or why there is none.

    Attributes
    ----------
    lines : list of str
    how : str
        Where the text comes from.
    reason : str
        Why there is none, and the way out.
    path : str
        Of the file on this machine; empty when none was read.
    """

    lines: tuple[str, ...] = ()
    how: str = ""
    reason: str = ""
    path: str = ""


class SourceAccess:
    """Reads source files under some folders.

    Parameters
    ----------
    roots : iterable of Path
        Folders that the viewer allows; nothing is read without any.
    editor : str
        One of :data:`EDITORS`, or an address with ``{file}`` and ``{line}`` in it; empty for no
        links.

    Raises
    ------
    GraphLensError
        A root is no folder, or the editor is not known.
    """

    def __init__(self, roots: Iterable[Path] = (), editor: str = "") -> None:
        self.roots: list[Path] = []
        for root in roots:
            if not root.is_dir():
                raise GraphLensError(
                    f"{root} is no folder; give the folder that holds the sources, such as "
                    f"`--sources .`"
                )
            self.roots.append(root.resolve())
        self.editor = editor_address(editor)

    def read(self, file: str, origins: Origins) -> SourceText:
        """Return the text of a file that origins name.

        Parameters
        ----------
        file : str
            As a frame has it.
        origins : Origins
            Files that none of its frames name are refused.
        """
        if file in origins.sources:
            return SourceText(tuple(origins.sources[file].splitlines()), STORED)
        if all(frame.file != file for frame in origins.frames):
            return SourceText(reason=f"no node of this graph comes from {file!r}")
        kind = unusual(file)
        if kind:
            return SourceText(reason=f"{kind}, and was not stored with the recording")
        if not self.roots:
            return SourceText(
                reason="the file was not stored with the recording (`cglens record "
                "--store-sources` does that); to read it from this machine start `cglens view` "
                "with `--sources DIR`, the folder that holds it"
            )
        return self._search(file)

    def _search(self, file: str) -> SourceText:
        if not file.endswith(SUFFIX):
            return SourceText(reason=f"only files that end in {SUFFIX} are read, not {file!r}")
        for path, is_same in self._candidates(file):
            found = self._inside(path)
            if found is None:
                continue
            text, problem = _read(found)
            if problem:
                return SourceText(reason=f"{found} was not read: {problem}")
            how = CHANGED if is_same else f"{found}, found by its name; {CHANGED}"
            return SourceText(tuple(text.splitlines()), how, "", str(found))
        folders = ", ".join(map(str, self.roots))
        return SourceText(
            reason=f"no such file in {folders}; start `cglens view` with `--sources DIR`, the "
            f"folder that holds it"
        )

    def _candidates(self, file: str) -> Iterable[tuple[Path, bool]]:
        """Yield where a file may be: where it was, then under each root by the end of its path."""
        if "\0" in file:
            return
        path = Path(file)
        parts = [part for part in file.replace("\\", "/").split("/") if part not in ("", ".")]
        if ".." in parts:
            return
        if path.is_absolute():
            yield path, True
        for first in range(len(parts)):
            for root in self.roots:
                yield root.joinpath(*parts[first:]), False

    def _inside(self, path: Path) -> Path | None:
        """Return the file that a path leads to, if it is inside a root."""
        try:
            found = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        inside = any(found.is_relative_to(root) for root in self.roots)
        return found if inside and found.suffix == SUFFIX else None

    def link(self, file: str, line: int, path: str = "") -> str:
        """Return the address that opens a line in the editor; empty without an editor.

        Parameters
        ----------
        file : str
            As a frame has it.
        line : int
        path : str
            Of the file on this machine, where it was found.
        """
        return self.link_of_lines(file, path).replace("{line}", str(line))

    def link_of_lines(self, file: str, path: str = "") -> str:
        """Return the same with ``{line}`` in the place of a number."""
        target = path or file
        if not self.editor or unusual(target):
            return ""
        target = target.replace("\\", "/")
        if re.match(r"[A-Za-z]:/", target):
            target = f"/{target}"
        # Two slashes would name another machine.
        if not target.startswith("/") or target.startswith("//"):
            return ""
        return self.editor.replace("{file}", quote(target))


def editor_address(editor: str) -> str:
    """Return the address that an editor is opened with, with ``{file}`` and ``{line}`` in it.

    Raises
    ------
    GraphLensError
        It is neither known nor such an address.

    Examples
    --------
    >>> editor_address("vscode")
    'vscode://file{file}:{line}'
    """
    if not editor or editor in EDITORS:
        return EDITORS.get(editor, "")
    scheme = _SCHEME.match(editor)
    if scheme is None or "{file}" not in editor or scheme[1].lower() in _REFUSED:
        raise GraphLensError(
            f"{EDITOR} is {editor!r}, expected one of {', '.join(EDITORS)}, or an address such as "
            f"`myeditor://open?file={{file}}&line={{line}}`"
        )
    return editor


def unusual(file: str) -> str:
    """Return what a file is when it is no file that somebody wrote; empty when it is one.

    Examples
    --------
    >>> unusual("<string>"), unusual("/tmp/torchinductor_me/ab/cab.py")
    ('code that was compiled from text', 'generated by torch.compile')
    >>> unusual("<ipython-input-3-5e8c>"), unusual("/home/me/train.py")
    ('a cell of a notebook', '')
    """
    name = file.replace("\\", "/")
    if name.startswith("<ipython-input") or "/ipykernel_" in name:
        return "a cell of a notebook"
    if name.startswith("<") or not name:
        return "code that was compiled from text"
    if "/torchinductor_" in name:
        return "generated by torch.compile"
    return ""


def _read(path: Path) -> tuple[str, str]:
    """Return a regular file's text, or why it is not read."""
    try:
        # The path is resolved: a link that has come since is not followed.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    except OSError as error:
        return "", error.strerror or str(error)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return "", "it is no regular file"
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return "", f"it has more than {MAX_BYTES:,} bytes"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), ""
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return "", "it is no text in the encoding that it declares"
