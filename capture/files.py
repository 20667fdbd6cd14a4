"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from .errors import OutputError

_EXPLANATIONS = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some space or write elsewhere",
    errno.EACCES: "permission denied; write to a folder of your own",
    errno.EPERM: "not permitted; write to a folder of your own",
    errno.EROFS: "the file system is read-only; write elsewhere",
    errno.ENOENT: "its folder does not exist; make it first",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder; name a file",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EFBIG: "the file is larger than the file system or a limit allows",
}


def check_output(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Check, before any work is done, that a file may be written at `path`.

    Returns
    -------
    Path
        The place that will be written: what a symbolic link points to, not the link.

    Raises
    ------
    OutputError
        It exists and `force` is false, it is no regular file, or its folder does not exist.
    """
    try:
        target = Path(os.path.realpath(path))
        found = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise OutputError(f"cannot write {path}: {_EXPLANATIONS[errno.ENOENT]}") from None
        return target
    except (OSError, ValueError) as error:
        raise OutputError(_explain(path, error)) from error
    if stat.S_ISDIR(found.st_mode):
        raise OutputError(f"cannot write {path}: {_EXPLANATIONS[errno.EISDIR]}")
    if not stat.S_ISREG(found.st_mode):
        raise OutputError(f"cannot write {path}: it is no regular file; '-' is standard output")
    if not force:
        raise OutputError(f"{path} exists; pass --force to replace it, or another name")
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str], force: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when all of it is on disk.

    The bytes go to a temporary file in the same folder, which is synchronised and renamed when
    the block ends, and removed when the block raises.

    Parameters
    ----------
    path : path-like
    force : bool
        Replace a file that is there.

    Yields
    ------
    BinaryIO
        Seekable.

    Raises
    ------
    OutputError
        Whatever the operating system refused, and on what grounds.
    """
    target = check_output(path, force)
    try:
        temporary = target.parent / f".cglens-{os.urandom(8).hex()}.tmp"
        # Not tempfile, whose files only their owner may read.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputError(_explain(path, error)) from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield cast(BinaryIO, stream)
            stream.flush()
            os.fsync(stream.fileno())
        _take_name(temporary, target, force)
    except OSError as error:
        raise OutputError(_explain(path, error)) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _take_name(temporary: Path, target: Path, force: bool) -> None:
    if not force:
        # A link refuses to replace a file that appeared meanwhile; a rename would not.
        try:
            os.link(temporary, target)
            return
        except FileExistsError:
            raise OutputError(f"{target} exists; pass --force to replace it") from None
        except OSError:
            if target.exists():
                raise OutputError(f"{target} exists; pass --force to replace it") from None
    os.replace(temporary, target)


def _explain(path: str | os.PathLike[str], error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    text = _EXPLANATIONS.get(number or 0) or getattr(error, "strerror", None) or str(error)
    return f"cannot write {path}: {text}"
