"""Compiles the observer of operators in C++, once for each torch, Python and compiler.

What is made lies in the user's cache folder. The compiler is started in the background when torch
is loaded, in a process of its own that renames what it made when it is whole: neither a process
that ends early nor two that compile at once leave half of it behind. What went wrong is kept as
well, so that it is not tried again each time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from .origins.settings import NATIVE_CACHE

MODULE = "cglens_operators"
SOURCES = Path(__file__).parent / "native"
COMPILERS = ("c++", "g++", "clang++")
MOST_S = 120
"""That a compiler may take; it takes some ten seconds."""
KEPT_S = 24 * 3600
"""How long a failure is believed."""
_compilers: dict[Path, int] = {}
"""Processes that this one has started, by what they make."""
_NODE = re.compile(r"(std::shared_ptr|c10::intrusive_ptr)<Node>\s+get_current_node\(\)")


class Unavailable(Exception):
    """There is no compiled observer here, and why; the one in Python takes its place."""


class Build(NamedTuple):
    """What is to be compiled.

    Attributes
    ----------
    target : Path
        Of the finished extension.
    command : list of str
        Without the output's name.
    """

    target: Path
    command: list[str]

    @property
    def failed(self) -> Path:
        """What the compiler said when it could not do it."""
        return self.target.with_suffix(".failed")


def folder() -> Path:
    """Return the folder that extensions are kept in."""
    chosen = os.environ.get(NATIVE_CACHE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "cudagraph-lens" / "native"


def plan(torch: Any) -> Build:
    """Say what has to be compiled for a torch.

    Raises
    ------
    Unavailable
        A part of it is missing.
    """
    if sys.implementation.name != "cpython" or sys.platform != "linux":
        raise Unavailable(f"it is written for CPython on Linux, not {sys.implementation.name} on "
                          f"{sys.platform}")  # fmt: skip
    version = re.match(r"(\d+)\.(\d+)", str(getattr(torch, "__version__", "")))
    home = Path(str(getattr(torch, "__file__", None) or "")).parent
    include, libraries = home / "include", home / "lib"
    python = Path(sysconfig.get_paths()["include"])
    wanted = (
        (include / "ATen/core/dispatch/Dispatcher.h", "the headers of torch"),
        (libraries / "libtorch_cpu.so", "the libraries of torch"),
        (python / "Python.h", "the headers of Python (of Debian's python3-dev, for example)"),
    )
    for path, name in wanted:
        if not path.is_file():
            raise Unavailable(f"{name} are not there: {path}")
    if version is None:
        raise Unavailable(f"this torch has no version: {getattr(torch, '__version__', None)!r}")
    command = [
        *compiler(),
        *("-std=c++17", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-DCGLENS_TORCH={int(version[1]) * 100 + int(version[2])}",
        f"-DCGLENS_NODE={node_pointer(include)}",
        *("-isystem", str(include), "-isystem", str(python)),
        str(SOURCES / "operators.cpp"),
        # Loaded already, and found again by their names.
        *(f"-L{libraries}", "-Wl,--no-as-needed", "-l:libtorch_cpu.so", "-l:libc10.so"),
    ]
    said = [torch.__version__, str(getattr(torch.version, "git_version", "")), sys.version]
    said += [platform.machine(), *command, *map(str, _stamp(Path(command[0])))]
    key = hashlib.sha256("\0".join(said).encode())
    for source in sorted(SOURCES.iterdir()):
        if source.suffix in (".h", ".cpp"):
            key.update(source.read_bytes())
    return Build(folder() / f"{MODULE}-{key.hexdigest()[:24]}{EXTENSION_SUFFIXES[0]}", command)


def compiler() -> list[str]:
    """Return the C++ compiler of this system, as ``CXX`` names it where it is set.

    Raises
    ------
    Unavailable
        There is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
    for name in [chosen[0]] if chosen else COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return [found, *chosen[1:]]
    asked = f"CXX={chosen[0]}" if chosen else ", ".join(COMPILERS)
    raise Unavailable(f"there is no C++ compiler ({asked})")


def _stamp(path: Path) -> tuple[int, int]:
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns


def node_pointer(include: Path) -> int:
    """Say how torch returns autograd nodes: 1 shared, 2 intrusive pointers, 0 not known."""
    for name in ("node.h", "function.h"):
        with suppress(OSError):
            text = (include / "torch/csrc/autograd" / name).read_text(encoding="utf-8")
            found = _NODE.search(text)
            if found:
                return 1 if found[1] == "std::shared_ptr" else 2
    return 0


def start(build: Build) -> None:
    """Start the compiler, unless that was done before.

    Raises
    ------
    Unavailable
        It failed a short while ago, or cannot be started.
    """
    if build.target.is_file() or build.target in _compilers:
        return
    if build.failed.is_file() and time.time() - build.failed.stat().st_mtime < KEPT_S:
        raise Unavailable(reason(build))
    output = build.target.with_suffix(f".{os.getpid()}.tmp")
    heard = build.target.with_suffix(f".{os.getpid()}.log")
    make = shlex.join([*build.command, "-o", str(output)])
    done = shlex.join(["mv", "-f", str(output), str(build.target)])
    forget = shlex.join(["rm", "-f", str(heard)])
    keep = shlex.join(["mv", "-f", str(heard), str(build.failed)])
    # Not a child of ours: the script may wait for its children.
    work = f"( {{ {make} && {forget} && {done}; }} || {keep} )"
    script = f"{work} </dev/null >{shlex.quote(str(heard))} 2>&1 & echo $!"
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    try:
        build.failed.unlink(missing_ok=True)
        build.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(build.target.parent, os.W_OK):
            raise Unavailable(f"{build.target.parent} cannot be written to")
        said = subprocess.run(  # noqa: S603 - a compiler of this system and our own sources
            ["/bin/sh", "-c", script],
            check=True,
            timeout=MOST_S,
            start_new_session=True,
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ).stdout
        _compilers[build.target] = int(said)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Unavailable(f"it cannot be compiled: {error}") from error


def finish(build: Build) -> None:
    """Wait until the compiler that was started is done.

    Raises
    ------
    Unavailable
        It failed.
    """
    end_s = time.monotonic() + MOST_S
    while not build.target.is_file():
        # In this order: what it leaves behind is there before it has ended.
        runs = _runs(_compilers.get(build.target, 0))
        if build.failed.is_file():
            raise Unavailable(reason(build))
        if not runs and not build.target.is_file():
            raise Unavailable("the compiler was ended before it was done")
        if time.monotonic() > end_s:
            raise Unavailable(f"compiling it took more than {MOST_S} s")
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return process > 0


def reason(build: Build) -> str:
    """Return what the compiler complained of, shortly."""
    try:
        lines = build.failed.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    first = next((line for line in lines if "error" in line.lower()), "") or "".join(lines[:1])
    return (
        f"compiling it failed: {first.strip()[:300]} (in {build.failed}, to be deleted for "
        f"another try)"
    )


def load(build: Build) -> Any:
    """Load what was compiled.

    Raises
    ------
    Unavailable
        It does not fit.
    """
    try:
        owner = build.target.stat().st_uid
        if owner not in (0, os.getuid()):
            raise Unavailable(f"{build.target} belongs to another user")
        loader = ExtensionFileLoader(MODULE, str(build.target))
        spec = spec_from_file_location(MODULE, build.target, loader=loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
    except (ImportError, OSError, AssertionError) as error:
        raise Unavailable(f"what was compiled cannot be loaded: {error}") from error
    return module
