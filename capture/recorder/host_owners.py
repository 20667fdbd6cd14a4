"""Who keeps the host memory and the functions that a graph's nodes use, and until when.

Found once, when the capture has ended, among the objects that Python's garbage collector knows;
after that a weak reference tells when the owner dies. Nothing is asked at replays.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from time import perf_counter_ns as clock
from types import CodeType
from typing import Any, NamedTuple

from ..model import Graph
from ..noticed import HostOwner
from .garbage import is_garbage
from .host_wrapped import word_at, wrapped
from .left_out import user_place
from .timeline import ExecutableState

BUDGET_NS = 2_000_000_000
"""Time in one process after which owners are no longer looked for."""
MOST_WATCHED = 256
"""Objects that are watched for one graph."""
_POINTER: type | None = getattr(ctypes, "_CFuncPtr", None)
"""Of function pointers, Python callbacks among them."""
StateOf = Callable[[], ExecutableState | None]


class Storages:
    """How host memory is recognised; torch's side of it is in :mod:`.torch_notices`."""

    def kind(self) -> type | None:
        """Return the type of what owns memory; ``None`` where there is none."""
        return None

    def span(self, item: Any) -> tuple[int, int]:
        """Return where the memory of an object on the host begins, and its bytes; or zeros."""
        return 0, 0

    def words(self, item: Any) -> str:
        """Describe an object for people."""
        return ""

    def expired(self, item: Any) -> Callable[[], bool]:
        """Return what says whether the memory itself is gone, which objects may share."""
        return lambda: True


class _Watched:
    """One owner, the objects that stand for it, and what became of them."""

    def __init__(self, owner: HostOwner, expired: Callable[[], bool], state: StateOf) -> None:
        self.owner = owner
        self.expired = expired
        self.alive = 0
        self.cyclic = False
        self.state: ExecutableState | None = None
        self._state_of = state
        self._references: list[weakref.ref[Any]] = []

    def add(self, item: Any) -> None:
        """Watch an object; its death is noted, whatever runs then."""
        if len(self._references) < MOST_WATCHED:
            self._references.append(weakref.ref(item, self._died))
            self.alive += 1

    def _died(self, _: object) -> None:
        try:
            self.alive -= 1
            self.state = self._state_of()
            self.owner.replays_before = self.state.replays if self.state is not None else 0
            # What is in a cycle dies wherever the collector happens to run.
            self.owner.gone_at = None if self.cyclic else user_place(sys._getframe(1))
        except Exception:  # noqa: S110 - this runs inside the garbage collector, anywhere
            pass

    def _uncollected(self) -> bool:
        """Say whether all that is left of a callback waits for the garbage collector."""
        if self.owner.kind != "function":
            return False
        living = [reference for reference in self._references if reference() is not None]
        if not all(map(is_garbage, living)):
            return False
        self.state = self._state_of()  # since when is not known
        self.owner.replays_before = self.state.replays if self.state is not None else 0
        return True

    def fate(self, graph_alive: bool) -> HostOwner | None:
        """Return the owner if it, or the way to it, was lost while its graph could be replayed."""
        if self.owner.through and word_at(self.owner.through) != self.owner.address:
            self.owner.data_gone = True
        if not self._references or (self.alive and not self._uncollected()):
            return self.owner if self.owner.data_gone else None
        if not self.expired():
            return None
        state = self.state or self._state_of()  # it may have been instantiated since
        after = state.replays - self.owner.replays_before if state is not None else 0
        if not graph_alive and not after:
            return None  # both went together, as the variables of a function do
        self.owner.gone, self.owner.replays_after = True, max(0, after)
        return self.owner


class HostOwners:
    """The owners that the graphs of one process need.

    Parameters
    ----------
    storages : Storages
    """

    def __init__(self, storages: Storages) -> None:
        self._storages = storages
        self._of: dict[int, tuple[weakref.ref[Any], list[_Watched]]] = {}
        self._spent_ns = 0

    def find(
        self, graph: Graph, holder: Any, serial: int, state: StateOf
    ) -> tuple[list[HostOwner], str]:
        """Find and watch the owners of all that a graph uses on the host.

        Parameters
        ----------
        graph : Graph
            What was captured.
        holder : object
            The framework's graph object.
        serial : int
        state : callable
            Returns the executable that is alive, whose replays are counted.

        Returns
        -------
        owners : list of HostOwner
            Those without an owner have an empty text.
        missing : str
            Why they were not looked for; empty otherwise.
        """
        functions, addresses = needed(graph)
        if not functions and not addresses:
            return [], ""
        if self._spent_ns > BUDGET_NS:
            return [], "finding owners on the host took too long before"
        start = clock()
        watched = self._find(functions, addresses, state)
        self._of[serial] = weakref.ref(holder), watched
        self._spent_ns += clock() - start
        return [item.owner for item in watched], ""

    def _find(self, functions: set[Called], addresses: set[int], state: StateOf) -> list[_Watched]:
        found = self._callbacks(functions, state) if functions else []
        return found + self._memory(addresses, state) if addresses else found

    def _callbacks(self, functions: set[Called], state: StateOf) -> list[_Watched]:
        """Find living callbacks; what only waits for the garbage collector counts as gone."""
        living = _callbacks_at({called.address for called in functions})
        found = []
        for address, through in sorted(functions):
            held = [ref for ref in living.get(address, ()) if not is_garbage(ref)]
            owner = HostOwner(kind="function", address=address, through=through)
            watched = _Watched(owner, lambda: True, state)
            for reference in held:
                item = reference()
                if item is not None:
                    watched.owner.owner = _callback(item)
                    watched.cyclic |= _holds_itself(item)
                    watched.add(item)
                del item
            found.append(watched)
        return found

    def _memory(self, addresses: set[int], state: StateOf) -> list[_Watched]:
        """Find the objects whose memory addresses lie in, and addresses that lie in none."""
        kind = self._storages.kind()
        if kind is None:
            return []
        found: dict[int, _Watched] = {}
        ordered = sorted(addresses)
        covered: set[int] = set()
        for item in gc.get_objects():
            if not issubclass(type(item), kind):
                continue
            start, size = self._storages.span(item)
            inside = [at for at in ordered if start <= at < start + size]
            if not inside:
                continue
            covered.update(inside)
            if start not in found:
                words = self._storages.words(item)
                owner = HostOwner(kind="memory", address=start, size_bytes=size, owner=words)
                found[start] = _Watched(owner, self._storages.expired(item), state)
            found[start].add(item)
        nobody = (
            HostOwner(kind="memory", address=at, size_bytes=1) for at in sorted(addresses - covered)
        )
        return [*found.values(), *(_Watched(owner, lambda: True, state) for owner in nobody)]

    def gone(self, serial: int) -> list[HostOwner]:
        """Return the owners that died while the graph was there, or before one of its replays."""
        holder, watched = self._of.get(serial, (None, []))
        alive = holder is not None and holder() is not None
        fates = (item.fate(alive) for item in watched)
        return [owner for owner in fates if owner is not None]

    def abandon(self) -> None:
        """Forget everything, in a forked child."""
        self._of.clear()
        self._spent_ns = 0


class Called(NamedTuple):
    """A function in no library that a host node calls, or that its user data names."""

    address: int
    through: int = 0


def needed(graph: Graph) -> tuple[set[Called], set[int]]:
    """Return functions of host nodes that are in no library, and host addresses of memcpys."""
    functions: set[Called] = set()
    addresses: set[int] = set()
    for _, level in graph.walk():
        for type_, payload in zip(level.topology.types, level.payloads, strict=True):
            if payload is None:
                continue
            if type_ == "host" and payload.function_address:
                behind = wrapped(payload)
                if behind:
                    functions.add(Called(behind, payload.user_data_address))
                elif not payload.library and not payload.symbol:
                    functions.add(Called(payload.function_address))
            elif type_ == "memcpy":
                addresses.update(_host_ends((payload.source, payload.destination)))
    return functions, addresses


def _host_ends(ends: Iterable[Any]) -> Iterable[int]:
    for end in ends:
        if end is not None and end.memory_type == "host" and end.address:
            yield end.address + (end.x_bytes or 0)


def _callbacks_at(functions: set[int]) -> dict[int, list[weakref.ref[Any]]]:
    found: dict[int, list[weakref.ref[Any]]] = {}
    for item in gc.get_objects():
        # isinstance would ask proxies for their class.
        if _POINTER is None or not issubclass(type(item), _POINTER):
            continue
        address = _address(item)
        if address in functions and _owns_code(item):
            found.setdefault(address, []).append(weakref.ref(item))
    return found


def _address(function: Any) -> int:
    """Return where a function pointer points; ``ctypes.cast`` would tie it into a cycle."""
    return int.from_bytes(bytes(function), sys.byteorder)


def _owns_code(item: Any) -> bool:
    """Say whether a function pointer is the Python callback itself, and no copy of its address."""
    return any(type(value).__name__ == "CThunkObject" for value in gc.get_referents(item))


def _holds_itself(item: Any) -> bool:
    """Say whether ``ctypes.cast`` has tied an object into a cycle."""
    kept = (value for value in gc.get_referents(item) if type(value) is dict)
    return any(value is item for held in kept for value in held.values())


def _callback(item: Any) -> str:
    """Describe a ctypes callback by the function that it calls, where that can be told."""
    for value in gc.get_referents(item):
        code = getattr(value, "__code__", None)
        if isinstance(code, CodeType):
            where = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
            return f"ctypes callback of {code.co_name} ({where})"
    return "ctypes callback"
