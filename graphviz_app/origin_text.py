"""Origins as text: short names of files, lines, operators' inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capture.origin_index import Line, OriginIndex
from capture.origins import Module, Operator, TensorLike

PHASE_NAMES = ("no phase", "forward", "backward", "optimizer")
"""By :data:`capture.origins.PHASES`."""
MOST_LISTED = 3


def base_name(file: str) -> str:
    r"""Return the last part of a path, whichever system wrote it.

    Examples
    --------
    >>> base_name("/home/me/model.py"), base_name("C:\\work\\train.py"), base_name("<string>")
    ('model.py', 'train.py', '<string>')
    """
    return file.replace("\\", "/").rstrip("/").rpartition("/")[2] or file


def short_files(files: Iterable[str]) -> dict[str, str]:
    """Return for each path the shortest end that tells it from the others, in any case.

    Examples
    --------
    >>> short_files(["/a/model.py", "/a/train.py", "/b/train.py"])
    {'/a/model.py': 'model.py', '/a/train.py': 'a/train.py', '/b/train.py': 'b/train.py'}
    """
    parts = {file: file.replace("\\", "/").split("/") for file in files}
    length = dict.fromkeys(parts, 1)
    while True:
        ends: dict[str, list[str]] = {}
        for file, names in parts.items():
            ends.setdefault("/".join(names[-length[file] :]).lower(), []).append(file)
        grown = False
        for same in ends.values():
            for file in same if len(same) > 1 else ():
                if length[file] < len(parts[file]):
                    length[file] += 1
                    grown = True
        if not grown:
            return {file: "/".join(names[-length[file] :]) for file, names in parts.items()}


def line_text(line: Line) -> str:
    """Return a line as ``file:line in function``."""
    where = f"{base_name(line.file)}:{line.line}"
    return f"{where} in {line.function}" if line.function else where


def tensor_text(tensor: TensorLike) -> str:
    """Return dtype and shape.

    Examples
    --------
    >>> tensor_text(TensorLike("torch.bfloat16", (8192, 768))), tensor_text(TensorLike("int64", ()))
    ('bfloat16[8192, 768]', 'int64[]')
    """
    shape = ", ".join(map(str, tensor.shape))
    return f"{tensor.dtype.removeprefix('torch.')}[{shape}]"


def is_contiguous(tensor: TensorLike) -> bool:
    """Return whether strides are those of rows that follow each other, or are not known."""
    if not tensor.stride or len(tensor.stride) != len(tensor.shape):
        return True
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def inputs_text(operator: Operator) -> str:
    """Return what an operator was given: tensors, then other arguments.

    Examples
    --------
    >>> inputs_text(Operator("aten.add.Tensor", (TensorLike("float32", (4,)),), ("alpha=2",)))
    'float32[4], alpha=2'
    """
    tensors = []
    for tensor in operator.inputs:
        text = tensor_text(tensor)
        if not is_contiguous(tensor):
            text += f" strided {', '.join(map(str, tensor.stride))}"
        tensors.append(text)
    return ", ".join([*tensors, *operator.scalars]) or "no arguments"


def module_text(module: Module) -> str:
    """Return a module's path; of an outermost one, its class.

    Examples
    --------
    >>> module_text(Module("", "Transformer")), module_text(Module("blocks.0", "Block"))
    ('Transformer', 'blocks.0')
    """
    return module.path or class_text(module.class_name) or "module"


def class_text(name: str) -> str:
    """Return a class's name without the function it was defined in.

    Examples
    --------
    >>> class_text("build.<locals>.Block")
    'Block'
    """
    return name.rpartition(">.")[2]


def module_view(index: OriginIndex, number: int) -> str:
    """Return the part of an address that names a module: its path where that is its alone.

    `view` of the page of modules and ``module:`` of a search read it alike.
    """
    path = index.modules[number].path
    alone = index.path_counts[path.lower()] == 1
    return path if path and alone and path != "classes" and path[0] != "#" else f"#{number}"


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names with commas; what is past `most` is counted.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def origin_texts(index: OriginIndex) -> tuple[list[str], list[str], list[str]]:
    """Return each node's module, operator and source line as short texts; empty where not known."""
    places = [f"{base_name(line.file)}:{line.line}" for line in index.lines]
    modules = [module_text(module) for module in index.modules]
    return (
        _texts(index.node_modules, modules),
        _texts(index.node_operators, index.operator_names),
        _texts([charge.lines for charge in index.charges], places),
    )


def _texts(keys: Sequence[tuple[int, ...]], names: Sequence[str]) -> list[str]:
    known: dict[tuple[int, ...], str] = {}
    return [
        known[key] if key in known else known.setdefault(key, listed([names[at] for at in key], 2))
        for key in keys
    ]
