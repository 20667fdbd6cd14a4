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


class TensorOwners:
    """Finds the module that a named tensor belongs to.

    A name begins with the class of the outermost module, such as ``"Net: layers.0.weight"`` or
    ``"gradient of Net: layers.0.weight"``: where two outermost modules have that class, it cannot
    be told whose it is.
    """

    def __init__(self, index: OriginIndex) -> None:
        self._roots = _roots(index)
        self._only = next(iter(self._roots.values())) if len(self._roots) == 1 else None
        self._places = {
            (index.ancestors[at][0], module.path): at for at, module in enumerate(index.modules)
        }

    def find(self, name: str) -> tuple[int, str] | None:
        """Return the index of the innermost module known, and what of it the tensor is.

        That is empty for parameters and buffers, else such as ``"gradient"`` or
        ``"AdamW: exp_avg"``. ``None`` for tensors of no module.
        """
        owner, _, path = name.rpartition(": ")
        what, _, class_name = owner.rpartition(" of ")
        wrapped = class_name == _WRAPPED and path.startswith(f"{_WRAPPER}.")
        root = self._only if wrapped else self._roots.get(class_name)
        if root is None:
            return None
        inner = ".".join(part for part in path.split(".")[:-1] if part != _WRAPPER)
        while inner:
            at = self._places.get((root, inner))
            if at is not None:
                return at, what
            inner = inner.rpartition(".")[0]
        return root, what


def held_by_module(index: OriginIndex, memory: Memory | None) -> dict[int, Held]:
    """Return what each module holds, by index into its modules; those without any are left out.

    Only tensors that the graph points into have names. A name counts once: the same name elsewhere
    belongs to another model of that class.

    Notes
    -----
    O(names * depth).
    """
    names = memory.names if memory is not None else None
    if names is None or not index.modules:
        return {}
    owners = TensorOwners(index)
    found: dict[int, Held] = {}
    counted: set[int | str] = set()
    for address, size, name in zip(names.address, names.size_bytes, names.name, strict=True):
        owner = owners.find(name)
        if owner is None or address in counted or name in counted:
            continue
        counted |= {address, name}
        at, what = owner
        for above in index.ancestors[at]:
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
