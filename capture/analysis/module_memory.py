"""What memory belongs to a module: the named tensors that a graph's nodes point into."""

from __future__ import annotations

from dataclasses import dataclass

from ..memory_map import Memory
from ..origin_index import OriginIndex

_WRAPPED = "OptimizedModule"
_WRAPPER = "_orig_mod"


@dataclass
class Held:
    """Bytes of the tensors of a module and of the modules inside it.

    Attributes
    ----------
    weights_bytes : int
        Parameters and buffers.
    gradients_bytes : int
    state_bytes : int
        What optimizers keep of its parameters.
    """

    weights_bytes: int = 0
    gradients_bytes: int = 0
    state_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return self.weights_bytes + self.gradients_bytes + self.state_bytes


def held_by_module(index: OriginIndex, memory: Memory | None) -> dict[int, Held]:
    """Return what each module holds, by index into its modules; those without any are left out.

    Only tensors that the graph points into have names. A name begins with the class of the
    outermost module: where two outermost modules have that class, its tensors are nobody's. A name
    counts once: the same name elsewhere belongs to another model of that class.

    Notes
    -----
    O(names * depth).
    """
    names = memory.names if memory is not None else None
    if names is None or not index.modules:
        return {}
    roots = _roots(index)
    only = next(iter(roots.values())) if len(roots) == 1 else None
    places = {(index.ancestors[at][0], module.path): at for at, module in enumerate(index.modules)}
    found: dict[int, Held] = {}
    counted: set[int | str] = set()
    for address, size, name in zip(names.address, names.size_bytes, names.name, strict=True):
        owner, _, path = name.rpartition(": ")
        what, _, class_name = owner.rpartition(" of ")
        wrapped = class_name == _WRAPPED and path.startswith(f"{_WRAPPER}.")
        root = only if wrapped else roots.get(class_name)
        if root is None or address in counted or name in counted:
            continue
        counted |= {address, name}
        inner = ".".join(part for part in path.split(".")[:-1] if part != _WRAPPER)
        at = places.get((root, inner))
        while at is None and inner:
            inner = inner.rpartition(".")[0]
            at = places.get((root, inner))
        for above in index.ancestors[root if at is None else at]:
            held = found.setdefault(above, Held())
            if not what:
                held.weights_bytes += size
            elif what == "gradient":
                held.gradients_bytes += size
            else:
                held.state_bytes += size
    return found


def _roots(index: OriginIndex) -> dict[str, int]:
    """Return the outermost modules by the name of their class, where it is one's alone."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    for at, module in enumerate(index.modules):
        if module.parent >= 0 or module.path:
            continue
        name = module.class_name.rpartition(".")[2]
        if name in found:
            twice.add(name)
        found[name] = at
    return {name: at for name, at in found.items() if name not in twice}
