"""What this machine can record, found out in a process of its own: a crash takes only that down.

Run as a file. Prints one JSON document per check as soon as it is made:
``{"name", "state": "ok" | "missing" | "note", "found", "fix"}``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

Answer = tuple[str, str, str]
"""(state, found, fix)."""

HERE = os.path.dirname(os.path.abspath(__file__))


def package() -> Any:
    """Return the drivers' side of this package, loaded as in a recorded process."""
    sys.path.insert(0, os.path.join(HERE, "site"))
    import_module("_cglens_bootstrap").load()
    sys.path.pop(0)
    return import_module("_cudagraph_lens_capture.recorder.driver_source")


def python() -> Answer:
    """Check the interpreter."""
    return "ok", f"Python {sys.version.split()[0]} at {sys.executable}", ""


def bindings() -> Answer:
    """Check cuda-bindings."""
    fix = "pip install cuda-bindings, in the major version of torch's CUDA (13.x for cu130)"
    try:
        import_module("cuda.bindings.driver")
        return "ok", f"cuda-bindings {metadata.version('cuda-bindings')}", ""
    except metadata.PackageNotFoundError:
        return "ok", "cuda-bindings, version unknown", ""
    except ImportError as error:
        return "missing", f"cuda-bindings is not importable: {error}", fix


def _own(error: Exception) -> str:
    """Return an error's text; that of missing bindings has been said already."""
    if type(error).__name__ == "MissingDependencyError":
        return "not known without cuda-bindings"
    return str(error)


def driver() -> Answer:
    """Check the driver."""
    errors = None
    try:
        source = package()
        errors = import_module("_cudagraph_lens_capture.errors")
        opened = source.open_driver()
        number = opened.version()
    except Exception as error:
        fix = "install an NVIDIA driver for CUDA 12.3 or newer (13.0 was tried)"
        if errors is not None and isinstance(error, errors.MissingDependencyError):
            fix = "see cuda-bindings above"
        elif isinstance(error, ImportError):
            fix = f"pip install {error.name}"
        return "missing", _own(error), fix
    body = (
        ""
        if number >= 13_020
        else (
            "; it has no cuGraphNodeGetParams (13.2): bodies of conditionals are read from its DOT"
        )
    )
    return "ok", f"driver for CUDA {number // 1000}.{number % 1000 // 10}{body}", ""


def gpu() -> Answer:
    """Check for a device."""
    try:
        found = package().open_driver().devices()
    except Exception as error:
        return (
            "missing",
            _own(error),
            (
                "recording needs an NVIDIA GPU; check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a "
                "container, --gpus all"
            ),
        )
    names = ", ".join(f"{item.index}: {item.name}" for item in found)
    return "ok", names, ""


def torch() -> Answer:
    """Check torch."""
    fix = "install torch 2.6 or newer with CUDA: https://pytorch.org/get-started"
    try:
        module = import_module("torch")
    except ImportError as error:
        return "missing", f"torch is not importable: {error}", fix
    built_for = module.version.cuda
    if not built_for:
        return "missing", f"torch {module.__version__} is built without CUDA", fix
    graph = module.cuda.CUDAGraph
    keep = (
        ""
        if hasattr(graph, "raw_cuda_graph")
        else ("; no raw_cuda_graph (came with 2.8): from_graph() takes raw handles only")
    )
    return "ok", f"torch {module.__version__} for CUDA {built_for}{keep}", ""


def operators() -> Answer:
    """Check which observer tells where nodes come from: the one in C++ is quicker."""
    package()
    building = import_module("_cudagraph_lens_capture.recorder.torch_native_build")
    settings = import_module("_cudagraph_lens_capture.recorder.origins.settings")
    chosen = os.environ.get(settings.OBSERVER)
    slower = "origins are noted in Python, which takes 10 to 45 us a node longer than in C++"
    if chosen == "python":
        return "note", f"{slower}: {settings.OBSERVER}=python", ""
    try:
        build = building.plan(import_module("torch"))
        building.start(build)
        building.finish(build)
        building.load(build)
    except building.Unavailable as error:
        fix = "install a C++ compiler such as g++, and the headers of this Python; CXX chooses one"
        return "note", f"{slower}: {error}", fix
    return "ok", f"origins are noted in C++, compiled for this torch: {build.target}", ""


def trial() -> Answer:
    """Capture a small graph and read it."""
    package()
    api = import_module("_cudagraph_lens_capture.recorder.api")
    module = import_module("torch")
    if not module.cuda.is_available():
        return (
            "missing",
            "torch sees no CUDA device",
            ("torch's CUDA must not be newer than the driver's; check CUDA_VISIBLE_DEVICES"),
        )
    tensor = module.zeros(64, device="cuda")
    recording = api.capture(lambda: tensor.add(1), replays=1)
    count = sum(info.node_count for info in recording.graphs.values())
    if not count:
        reasons = [info.failure.message for info in recording.failed.values() if info.failure]
        return (
            "missing",
            "; ".join(reasons) or "the captured graph has no node",
            ("please report this with the output of `cglens doctor --json`"),
        )
    return "ok", f"captured, read and replayed a graph of {count} node(s)", ""


def cupti() -> Answer:
    """Check the CUPTI that torch brings, which node timings come from, and who holds it."""
    package()
    errors = import_module("_cudagraph_lens_capture.errors")
    source = import_module("_cudagraph_lens_capture.recorder.cupti_library")
    try:
        library = source.Cupti()
    except errors.GraphLensError as error:
        return "note", f"no node timings: {error}", "install torch with CUDA, which brings CUPTI"
    packages = ("nvidia-cuda-cupti", "nvidia-cuda-cupti-cu13", "nvidia-cuda-cupti-cu12")
    versions = [f"{name} {_version(name)}" for name in packages if _version(name)]
    found = f"CUPTI API {library.version} ({', '.join(versions) or library.path})"
    try:
        library.subscribe(lambda original, clone: None)
        library.unsubscribe()
    except source.CuptiError as error:
        if error.code == source.MULTIPLE_SUBSCRIBERS:
            return (
                "note",
                f"{found} is held by somebody else, so there will be no node timings",
                "record without nsys, ncu or another profiler around it",
            )
        return "note", f"{found} cannot be used: {error}", ""
    return "ok", found, ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def profiling() -> Answer:
    """Check who may read performance counters."""
    path = "/proc/driver/nvidia/params"
    try:
        with open(path, encoding="utf-8") as stream:
            lines = dict(line.partition(": ")[::2] for line in stream.read().splitlines())
    except OSError:
        return "note", f"{path} is not readable: whether counters are allowed is not known", ""
    if lines.get("RmProfilingAdminOnly") == "0":
        return "ok", "performance counters are open to everyone", ""
    return (
        "note",
        "performance counters (ncu) are for administrators only",
        (
            "recording does not need them; to open them: options nvidia "
            "NVreg_RestrictProfilingToAdminUsers=0"
        ),
    )


def nvml() -> Answer:
    """Check for NVML's bindings."""
    version = _version("nvidia-ml-py")
    if version:
        return "ok", f"nvidia-ml-py {version}", ""
    return (
        "note",
        "nvidia-ml-py is not installed: benchmarks do not tell clocks, power and other processes",
        "pip install nvidia-ml-py",
    )


CHECKS: dict[str, Callable[[], Answer]] = {
    "python": python,
    "cuda-bindings": bindings,
    "driver": driver,
    "gpu": gpu,
    "torch": torch,
    "operators": operators,
    "trial": trial,
    "cupti": cupti,
    "profiling": profiling,
    "nvml": nvml,
}
"""In the order in which they are made."""


def main() -> None:
    """Make every check."""
    # This file's folder is no place to import modules from.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    states: dict[str, str] = {}
    for name, check in CHECKS.items():
        if name in ("operators", "trial") and "missing" in states.values():
            state, found, fix = "note", "not tried: something above is missing", ""
        else:
            print(json.dumps({"name": name, "state": "started"}), flush=True)
            try:
                state, found, fix = check()
            except Exception as error:
                state, found, fix = "missing", f"{type(error).__name__}: {error}", ""
        states[name] = state
        print(json.dumps({"name": name, "state": state, "found": found, "fix": fix}), flush=True)


if __name__ == "__main__":
    main()
