"""The server: its address, its port, its words."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from graphviz_app import cli, server

DOT = Path(__file__).parent.parent / "data" / "driver_dot" / "alltypes_plain.dot"


def start(*options: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "graphviz_app", "view", str(DOT), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


def stop(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found is not None, line or process.communicate()
    return found[0]


def test_a_free_port_is_taken_and_printed_and_served() -> None:
    process = start("--port", "0", "--no-browser")
    try:
        url = address(process)
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"CUDA Graph Lens" in answer.read()
    finally:
        _, errors = stop(process)
    assert process.returncode == 0
    assert errors == ""


def test_no_browser_is_no_error() -> None:
    nothing = {"BROWSER": "no-such-browser %s", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    process = start("--port", "0", env={**nothing, "PATH": str(Path(sys.executable).parent)})
    try:
        url = address(process)
        assert process.stderr is not None
        assert process.stderr.readline() == f"no browser was found; open {url} yourself\n"
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert answer.status == 200
    finally:
        stop(process)
    assert process.returncode == 0


def test_another_host_prints_a_warning() -> None:
    process = start("--port", "0", "--host", "0.0.0.0", "--no-browser")
    try:
        assert address(process).startswith("http://127.0.0.1:")
    finally:
        _, errors = stop(process)
    assert errors.startswith("warning: listening on 0.0.0.0")


def test_a_port_in_use_is_one_line_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["view", str(DOT), "--no-browser", "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}" in error
    assert "--port 0" in error


def test_a_host_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", str(DOT), "--no-browser", "--host", "no such host"]) == 1
    assert "leave --host out" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"not a recording at all", b"PK\x03\x04broken"])
def test_a_bad_file_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.cgl"
    file.write_bytes(content)
    assert cli.main(["view", str(file), "--no-browser", "--port", "0"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("cglens: ")
    assert error.count("\n") == 1


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", str(tmp_path / "none.cgl"), "--no-browser", "--port", "0"]) == 1
    assert "none.cgl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:{}/x/"), ("localhost", "http://localhost:{}/x/"),
     ("0.0.0.0", "http://127.0.0.1:{}/x/")],
)  # fmt: skip
def test_addresses_can_be_opened_on_this_machine(host: str, url: str) -> None:
    listener = server.bind(host, 0)
    with listener:
        port = listener.getsockname()[1]
        assert server.address(listener, host, "/x/") == url.format(port)
