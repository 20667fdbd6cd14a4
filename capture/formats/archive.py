"""Reading members of a zip that nobody vouches for, one at a time and within bounds."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from ..errors import FormatError, LookupFailed, TooLargeError, TruncatedError

MAX_FILE_BYTES = 1 << 30
MAX_MEMBER_BYTES = 1 << 28
MAX_TOTAL_BYTES = 1 << 32
MAX_RATIO = 500
"""Inflated over stored size; deflate ends at 1032, documents of columns stay well under 200."""
RATIO_FREE_BYTES = 1 << 24
"""Members that inflate to less than this may have any ratio."""
MAX_DIRECTORY_BYTES = 1 << 24
"""Size of the zip's table of contents: about 150,000 members."""

_CHUNK = 1 << 20
_TAIL = 1 << 16
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")


class Archive:
    """A zip file whose members are read on demand; no handle is kept between reads.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TruncatedError
        It begins as a zip and has no table of contents.
    TooLargeError
        A bound was passed.
    FormatError
        It is no zip, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream:
            self._identity = _identity(stream)
            _check_ends(stream, path)
            try:
                with zipfile.ZipFile(stream) as archive:
                    members = archive.infolist()
            except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
                raise FormatError(f"{path} is a damaged zip file: {error}") from error
        self._members = {member.filename: member for member in members}
        if len(self._members) < len(members):
            raise FormatError(f"{path} has two members of one name: it was not written by cglens")
        total = sum(member.file_size for member in members)
        if total > MAX_TOTAL_BYTES:
            raise TooLargeError(
                f"{path} would unpack to {total} bytes; at most {MAX_TOTAL_BYTES} are read"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> list[str]:
        """Return the names of all members, in stored order."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """Inflate one member.

        Raises
        ------
        FormatError
            It is missing, damaged, larger than a bound or than it claims, or the file has changed
            since it was opened.
        """
        member = self._members.get(name)
        where = f"{self.path}: {name}"
        if member is None:
            raise FormatError(f"{self.path} has no member {name!r}, which it refers to")
        _check_claims(member, where)
        try:
            with self.path.open("rb") as stream:
                if _identity(stream) != self._identity:
                    raise FormatError(f"{self.path} was changed since it was opened: open it again")
                return _inflate(stream, member, where)
        except FileNotFoundError:
            raise LookupFailed(f"{self.path} is gone: it was moved or deleted meanwhile") from None
        except OSError as error:
            raise FormatError(f"{where} cannot be read: {error}") from error


def _identity(stream: BinaryIO) -> tuple[int, int, int]:
    found = os.fstat(stream.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def _check_ends(stream: BinaryIO, path: Path) -> None:
    """Check beginning, end and size of the table of contents before anything is parsed."""
    size = os.fstat(stream.fileno()).st_size
    if size > MAX_FILE_BYTES:
        raise TooLargeError(f"{path} has {size} bytes; recordings up to {MAX_FILE_BYTES} are read")
    magic = stream.read(4)
    if not magic.startswith(b"PK"):
        raise FormatError(f"{path} is no packed recording: it does not begin as a zip file does")
    stream.seek(max(0, size - _TAIL - _END.size))
    tail = stream.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise TruncatedError(
            f"{path} ends too early: it begins as a packed recording and its table of contents, "
            f"which comes last, is missing; copy it again, or pack the recording folder it came "
            f"from with `cglens recover`"
        )
    directory = _END.unpack_from(tail, place)[5]
    place64 = tail.rfind(b"PK\x06\x06", 0, place)
    if place64 >= 0 and place - place64 >= _END64.size:
        directory = max(_END64.unpack_from(tail, place64)[8], directory % 0xFFFFFFFF)
    if directory > MAX_DIRECTORY_BYTES:
        raise TooLargeError(
            f"{path} has a table of contents of {directory} bytes; at most "
            f"{MAX_DIRECTORY_BYTES} are read"
        )
    stream.seek(0)


def _check_claims(member: zipfile.ZipInfo, where: str) -> None:
    if member.flag_bits & 0x1:
        raise FormatError(f"{where} is encrypted; recordings are not")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"{where} is compressed in a way that recordings are not")
    if member.file_size > MAX_MEMBER_BYTES:
        raise TooLargeError(
            f"{where} would unpack to {member.file_size} bytes; at most {MAX_MEMBER_BYTES} are read"
        )
    if member.file_size > RATIO_FREE_BYTES and member.file_size > MAX_RATIO * member.compress_size:
        raise TooLargeError(
            f"{where} would unpack to {member.file_size // max(1, member.compress_size)} times its "
            f"size; at most {MAX_RATIO} times is read: this looks like a zip bomb"
        )


def _inflate(stream: BinaryIO, member: zipfile.ZipInfo, where: str) -> bytes:
    stream.seek(member.header_offset)
    header = stream.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
        raise FormatError(f"{where} is not where the zip's table of contents says")
    _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    stream.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    left = member.compress_size
    inflater = zlib.decompressobj(-15) if member.compress_type == zipfile.ZIP_DEFLATED else None
    parts: list[bytes] = []
    got = 0
    while left > 0:
        data = stream.read(min(left, _CHUNK))
        if not data:
            raise TruncatedError(f"{where} ends too early")
        left -= len(data)
        while data:
            if inflater is None:
                part, data = data, b""
            else:
                try:
                    part = inflater.decompress(data, _CHUNK)
                except zlib.error as error:
                    raise FormatError(f"{where} is damaged: {error}") from error
                data = inflater.unconsumed_tail
            got += len(part)
            if got > member.file_size:
                raise TooLargeError(
                    f"{where} unpacks to more than the {member.file_size} bytes that it claims"
                )
            parts.append(part)
            if inflater is not None and inflater.eof:
                left, data = 0, b""
    content = b"".join(parts)
    if got < member.file_size:
        raise TruncatedError(f"{where} has {got} bytes, but claims {member.file_size}")
    if zlib.crc32(content) != member.CRC:
        raise FormatError(f"{where} is damaged: its checksum does not match")
    return content
