"""Ordinary memory of a process is told from what is no memory of it."""

from __future__ import annotations

import ctypes
from pathlib import Path

from capture.recorder.host_maps import HostMaps


def test_a_buffer_of_ours_is_ordinary_memory() -> None:
    maps = HostMaps()
    buffer = ctypes.create_string_buffer(1 << 20)
    assert maps.hold(ctypes.addressof(buffer))
    assert not maps.hold(0x10)


def test_only_private_writable_mappings_count(tmp_path: Path) -> None:
    path = tmp_path / "maps"
    path.write_text(
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
        "7f0000001000-7f0000002000 ---p 00000000 00:00 0\n"
        "7f0000002000-7f0000003000 rw-s 00000000 00:05 7 /dev/nvidiactl\n"
        "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n"
    )
    maps = HostMaps(str(path))
    held = [maps.hold(0x7F0000000000 + 0x1000 * page + 8) for page in range(4)]
    assert held == [True, False, False, False]
    assert maps.hold(0x7FFD00000010)
    assert not HostMaps(str(tmp_path / "none")).hold(0x7FFD00000010)
