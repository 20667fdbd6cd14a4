"""Tensors of this process that have a name, and what their names lead to later.

Parameters, buffers, gradients and optimizer state have the module path of their parameter;
tensors in variables of the capturing code have the variable's name.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from inspect import CO_OPTIMIZED
from itertools import compress
from time import perf_counter_ns as clock
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from .frame_locals import variable
from .places import is_user

MAX_FRAMES = 8
"""Frames of the capturing code whose variables are looked at."""
SCAN_SHARE = 50
"""Finding modules anew may take one part in so many of the time."""
MAX_VARIABLES = 400
"""Variables of one frame, or attributes of one object, that are looked at."""


class Binding(NamedTuple):
    """A place that holds a tensor: an attribute, an entry of a module, or of an optimizer's state.

    Nothing is kept alive by it.
    """

    name: str
    kind: str
    """``"parameter"``, ``"buffer"``, ``"gradient"``, ``"state"``, ``"variable"`` or ``""`` for what
    cannot be looked up again."""
    owner: weakref.ref[Any] | None
    key: Any

    def holds(self) -> tuple[bool, Any]:
        """Return whether the place is still there, and what it holds now."""
        owner = self.owner() if self.owner is not None else None
        if owner is None:
            return False, None
        if self.kind == "parameter":
            return True, owner._parameters.get(self.key)
        if self.kind == "buffer":
            return True, owner._buffers.get(self.key)
        if self.kind == "gradient":
            parameter = owner._parameters.get(self.key)
            return parameter is not None, getattr(parameter, "grad", None)
        if self.kind == "variable":
            return True, vars(owner).get(self.key)
        reference, field = self.key
        parameter = reference()
        if parameter is None or parameter not in owner.state:
            return False, None
        return True, owner.state[parameter].get(field)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two bindings of one place."""
        key = self.key
        if self.kind == "state":
            key = (id(key[0]()), key[1])
        return self.kind, id(self.owner() if self.owner is not None else None), key


def storage_of(tensor: Any) -> tuple[int, int] | None:
    """Return address and bytes of a tensor's memory on a CUDA device; ``None`` for none."""
    try:
        if tensor is not None and tensor.is_cuda:
            storage = tensor.untyped_storage()
            size = storage.nbytes()
            if size:
                return storage.data_ptr(), size
    except Exception:  # fake and wrapped tensors have no memory
        return None
    return None


def is_emptied(tensor: Any) -> bool:
    """Say whether a tensor is on a CUDA device, but its memory was given back for a while."""
    with suppress(Exception):
        return bool(tensor.is_cuda and not tensor.untyped_storage().nbytes())
    return False


class Owners:
    """Modules and optimizers of the process, found by the garbage collector and held weakly.

    Asking it takes tenths of a second in a large process. So it is asked again only after
    :data:`SCAN_SHARE` times what the last time took, or on request.
    """

    def __init__(self) -> None:
        self._roots: list[weakref.ref[Any]] = []
        self._optimizers: list[weakref.ref[Any]] = []
        self._due_ns = 0

    def find(self, again: bool = False) -> tuple[list[Any], list[Any]]:
        """Return modules that are in no other one, and optimizers, as far as they live.

        Parameters
        ----------
        again : bool
            Whether to ask the collector in any case.
        """
        start = clock()
        if again or start >= self._due_ns:
            self._scan()
            now = clock()
            self._due_ns = now + SCAN_SHARE * (now - start)
        found = [
            [item for item in (reference() for reference in held) if item is not None]
            for held in (self._roots, self._optimizers)
        ]
        return found[0], found[1]

    def _scan(self) -> None:
        import torch

        modules, optimizers = _kinds(torch.nn.Module), _kinds(torch.optim.Optimizer)
        wanted = modules | optimizers
        # Exact types in one pass: isinstance would ask proxies for their class.
        objects = gc.get_objects()
        found = list(compress(objects, map(wanted.__contains__, map(type, objects))))
        held = [item for item in found if type(item) in modules]
        children = {id(child) for module in held for child in module._modules.values()}
        self._roots = [weakref.ref(item) for item in held if id(item) not in children]
        self._optimizers = [weakref.ref(item) for item in found if type(item) in optimizers]


def _kinds(base: type) -> set[type]:
    """Return a class and all that are derived from it."""
    found = {base}
    new = [base]
    while new:
        derived: list[type] = new.pop().__subclasses__()
        added = [kind for kind in derived if kind not in found]
        new += added
        found.update(added)
    return found


def named_tensors(owners: Owners, frame: FrameType | None = None) -> Iterator[tuple[Binding, Any]]:
    """Yield tensors that have a name, modules and optimizers first.

    Parameters
    ----------
    owners : Owners
    frame : frame, optional
        Whose variables, and its callers', are looked at too; without one, those of ``__main__``.
    """
    import torch

    roots, optimizers = owners.find(again=frame is None)
    # What was made since the collector was asked, by the code that captures.
    near = list(_near(frame))
    for kind, held in ((torch.nn.Module, roots), (torch.optim.Optimizer, optimizers)):
        known = {id(item) for item in held}
        held += [item for item in near if issubclass(type(item), kind) and id(item) not in known]
    names: dict[int, str] = {}
    for root in roots:
        yield from _of_root(root, names)
    for optimizer in optimizers:
        owner = weakref.ref(optimizer)
        for parameter, state in optimizer.state.items():
            if not isinstance(state, dict) or not isinstance(parameter, torch.Tensor):
                continue
            of = names.get(id(parameter), "a parameter")
            for field, value in state.items():
                if isinstance(value, torch.Tensor):
                    name = f"{type(optimizer).__name__}: {field} of {of}"
                    yield Binding(name, "state", owner, (weakref.ref(parameter), field)), value
    yield from _variables(frame)


def _of_root(root: Any, names: dict[int, str]) -> Iterator[tuple[Binding, Any]]:
    prefix = type(root).__name__
    for path, module in root.named_modules(remove_duplicate=False):
        owner = weakref.ref(module)
        start = f"{path}." if path else ""
        for key, tensor in module._parameters.items():
            if tensor is None:
                continue
            name = names.setdefault(id(tensor), f"{prefix}: {start}{key}")
            yield Binding(name, "parameter", owner, key), tensor
            if tensor.grad is not None:
                yield Binding(f"gradient of {name}", "gradient", owner, key), tensor.grad
        for key, tensor in module._buffers.items():
            yield Binding(f"{prefix}: {start}{key} (buffer)", "buffer", owner, key), tensor


def _near(frame: FrameType | None) -> Iterator[Any]:
    """Yield modules and optimizers in variables of the code that captures, or of its objects."""
    import torch

    wanted = (torch.nn.Module, torch.optim.Optimizer)
    looked = 0
    seen: set[int] = set()
    while frame is not None and looked < MAX_FRAMES:
        if is_user(frame.f_code.co_filename):
            looked += 1
            held: list[Any] = []
            if frame.f_code.co_flags & CO_OPTIMIZED:
                code = frame.f_code
                names = code.co_varnames + code.co_cellvars + code.co_freevars
                held += [variable(frame, key) for key in names[:MAX_VARIABLES]]
                if names[:1] == ("self",):
                    held += list(getattr(held[0], "__dict__", {}).values())[:MAX_VARIABLES]
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                held += list(frame.f_globals.values())[:MAX_VARIABLES]
            for item in held:
                if id(item) not in seen and issubclass(type(item), wanted):
                    seen.add(id(item))
                    yield item
        frame = frame.f_back


def _variables(frame: FrameType | None) -> Iterator[tuple[Binding, Any]]:
    """Yield tensors in variables of the code that captures, the innermost frame first."""
    seen: set[int] = set()
    looked = 0
    if frame is None:
        yield from _attributes(sys.modules.get("__main__"), "", seen)
    while frame is not None and looked < MAX_FRAMES:
        code = frame.f_code
        if is_user(code.co_filename):
            looked += 1
            if code.co_flags & CO_OPTIMIZED:
                names = code.co_varnames + code.co_cellvars + code.co_freevars
                for key in names[:MAX_VARIABLES]:
                    # Never frame.f_locals: it would keep what it shows alive.
                    value = variable(frame, key)
                    if key == "self":
                        yield from _attributes(value, f"{type(value).__name__}.", seen)
                    else:
                        name = f"{key} of {code.co_name}()"
                        yield from _parts(value, name, Binding(name, "", None, key))
            module = sys.modules.get(frame.f_globals.get("__name__", ""))
            if isinstance(module, ModuleType) and vars(module) is frame.f_globals:
                yield from _attributes(module, "", seen)
        frame = frame.f_back


def _attributes(owner: Any, prefix: str, seen: set[int]) -> Iterator[tuple[Binding, Any]]:
    if id(owner) in seen:
        return
    seen.add(id(owner))
    try:
        reference = weakref.ref(owner)
        held = list(vars(owner).items())[:MAX_VARIABLES]
    except TypeError:  # it has slots, or does not take part
        return
    for key, value in held:
        name = f"{prefix}{key}"
        yield from _parts(value, name, Binding(name, "variable", reference, key))


def _parts(value: Any, name: str, binding: Binding) -> Iterator[tuple[Binding, Any]]:
    """Yield a tensor, or the tensors of a list or map of them, which are named only."""
    import torch

    kind = type(value)
    if issubclass(kind, torch.Tensor):
        yield binding, value
    elif kind in (list, tuple):
        for index, item in enumerate(value[:MAX_VARIABLES]):
            if issubclass(type(item), torch.Tensor):
                yield Binding(f"{name}[{index}]", "", None, index), item
    elif kind is dict:
        for key, item in list(value.items())[:MAX_VARIABLES]:
            if issubclass(type(item), torch.Tensor):
                yield Binding(f"{name}[{key!r}]"[:200], "", None, key), item
