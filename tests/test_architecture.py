"""The shape of the code: imports point one way, and heavy packages stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each part may import itself and the parts named beside it.
CAPTURE = {
    "errors": set(),
    "registry": {"errors"},
    "timings": set(),
    "benchmarks": set(),
    "distributions": set(),
    "origins": set(),
    "origin_index": {"origins"},
    "origin_checks": {"errors", "origins"},
    "memory_after": set(),
    "memory_map": {"memory_after"},
    "memory_checks": {"errors", "memory_after", "memory_map"},
    "outside": {"origins"},
    "outside_checks": {"errors", "outside"},
    "writes": set(),
    "updates": set(),
    "evidence": {
        "errors",
        "timings",
        "benchmarks",
        "origins",
        "origin_checks",
        "memory_after",
        "memory_map",
        "memory_checks",
        "outside",
        "outside_checks",
        "writes",
        "updates",
    },
    "model": {
        "errors",
        "timings",
        "benchmarks",
        "origins",
        "memory_map",
        "evidence",
        "writes",
        "updates",
    },
    "noticed": {"model"},
    "columns": {"errors"},
    "files": {"errors"},
    "measure_request": {"errors"},
    "locate_request": {"errors"},
    "located": {"errors"},
    "names": {"errors"},
    "policy": {"errors"},
    "selection": {"errors", "model", "names"},
    "driver": {"errors", "model"},
    "nodes": {"errors", "registry", "model", "driver"},
    "failures": {"errors", "registry"},
    "arguments": {"errors", "model", "nodes", "names"},
    "memory": {"errors", "model", "nodes", "names", "arguments", "memory_map", "writes"},
    "topology": {"errors", "model", "nodes", "columns", "codec", "origins", "origin_index"},
    "codec": {"errors", "model", "nodes", "columns", "evidence"},
}
_LOW = {*CAPTURE, "extract"}
CAPTURE |= {
    "extract": {"errors", "model", "driver", "nodes", "names"},
    "analysis": {*_LOW, "compare"},  # graphs of one recording are compared, lazily
    "compare": {*_LOW, "analysis", "formats"},  # files are opened where paths are given
    "formats": {*_LOW, "recorder"},  # a folder is read by the recorder's assemble, lazily
    "recorder": {*_LOW, "formats", "analysis", "compare"},
    "pytest_plugin": {*_LOW, "compare", "formats", "recorder"},
}

APP = {
    "format": set(),
    "fields": {"format"},
    "ids": set(),
    "layout": set(),
    "state": set(),
    "store": {"layout", "figures", "format", "fields", "state"},
    "comparing": {"format", "fields", "layout", "state", "figures", "store"},
    "figures": {"format", "fields", "layout", "state", "ids"},
    "components": {"format", "fields", "layout", "state", "ids", "figures", "comparing", "store"},
    "pages": {
        "format",
        "fields",
        "layout",
        "state",
        "ids",
        "figures",
        "comparing",
        "components",
        "store",
    },
}


def modules(package: str) -> Iterator[Path]:
    for path in sorted((ROOT / package).rglob("*.py")):
        if "site" not in path.relative_to(ROOT / package).parts:
            yield path


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield absolute names of what a module imports, relative imports resolved."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                name = ".".join([*base, *([node.module] if node.module else [])])
                if node.module:
                    yield name, node.lineno
                else:
                    for alias in node.names:
                        yield f"{name}.{alias.name}", node.lineno
            elif node.module:
                yield node.module, node.lineno


def wrong_arrows(package: str, allowed: dict[str, set[str]]) -> list[str]:
    found = []
    for path in modules(package):
        part = path.relative_to(ROOT / package).with_suffix("").parts[0]
        if part not in allowed:
            continue
        for name, line in imports(path):
            pieces = name.split(".")
            if pieces[0] != package or len(pieces) < 2:
                continue
            target = pieces[1]
            if target in allowed and target != part and target not in allowed[part]:
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    return found


def test_capture_imports_point_one_way() -> None:
    assert wrong_arrows("capture", CAPTURE) == []


def test_app_imports_point_one_way() -> None:
    assert wrong_arrows("graphviz_app", APP) == []


def test_every_module_of_capture_has_a_place_in_the_order() -> None:
    parts = {
        path.relative_to(ROOT / "capture").with_suffix("").parts[0] for path in modules("capture")
    }
    assert parts - {"__init__", "__main__"} <= set(CAPTURE)


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        (
            "capture",
            {"dash", "plotly", "flask", "graphviz_app", "dash_ag_grid", "dash_mantine_components"},
        ),
        ("graphviz_app", {"cuda", "cupti", "torch"}),
    ],
)
def test_packages_stay_out_of_each_others_way(package: str, forbidden: set[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(package)
        for name, line in imports(path)
        if name.split(".")[0] in forbidden
    ]
    assert found == []


def test_only_named_modules_import_cuda_torch_and_cupti() -> None:
    found = []
    for path in modules("capture"):
        relative = path.relative_to(ROOT / "capture").as_posix()
        for name, line in imports(path):
            home = name.split(".")[0]
            allowed = {
                "cuda": relative == "driver/cuda_bindings.py",
                "torch": relative.startswith(("recorder/torch_", "recorder/own/torch_")),
                "pynvml": relative == "recorder/own/conditions.py",
                "cupti": relative.startswith("recorder/cupti_"),
            }.get(home, True)
            if not allowed:
                found.append(f"capture/{relative}:{line} imports {name}")
    assert found == []


def test_capture_uses_relative_imports_of_itself() -> None:
    # The recorder loads the package under another name in a user's process.
    found = []
    for path in modules("capture"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            if any(name.split(".")[0] == "capture" for name in names):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []


def loaded_after(code: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    return set(result.stdout.split())


def test_import_capture_is_light() -> None:
    heavy = {"dash", "plotly", "flask", "torch", "cuda", "cupti", "numpy", "networkx"}
    assert not loaded_after("import capture") & heavy


def test_reading_and_summing_up_a_recording_is_light() -> None:
    code = (
        "import capture, pathlib, tempfile\n"
        "from capture.model import *\n"
        "graph = Graph(topology=Topology(types=['kernel', 'memset'], source=[0], target=[1]),"
        " payloads=[None, None])\n"
        "info = GraphInfo(key='a', name='a', node_count=2, edge_count=1)\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'a.cgl'\n"
        "capture.write(Recording(Metadata(), [info], loaded={'a': graph}), path)\n"
        "assert len(capture.read(path).graph('a')) == 2\n"
    )
    heavy = {"dash", "plotly", "flask", "torch", "cuda", "cupti", "numpy", "networkx"}
    assert not loaded_after(code) & heavy


def test_public_names_exist() -> None:
    import capture

    for name in capture.__all__:
        assert callable(getattr(capture, name)), name
