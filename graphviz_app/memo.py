"""A memo bounded by bytes, for results that several requests ask for at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Result = TypeVar("Result")


class Memo:
    """Keeps results until their sizes pass a bound, then drops the least recently used.

    A result is computed once, however many threads ask for it at the same time; computing one
    key does not hold up another. An error is raised to everyone who waited and not kept.

    Parameters
    ----------
    limit_bytes : int
        Bound on the sum of sizes. The newest result stays even when it alone is larger.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(
        self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]
    ) -> Result:
        """Return the result of a key, making it when it is not kept.

        Parameters
        ----------
        key : hashable
        make : callable
            Computes the result.
        size : callable
            Returns the result's size in bytes.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]  # type: ignore[no-any-return]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key][0]  # type: ignore[no-any-return]
            try:
                result = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            self._keep(key, result, size(result))
            return result

    def holds(self, key: Hashable) -> bool:
        """Say whether the result of a key is kept."""
        with self._lock:
            return key in self._kept

    def _keep(self, key: Hashable, result: Any, size_bytes: int) -> None:
        with self._lock:
            self._kept[key] = (result, size_bytes)
            self.held_bytes += size_bytes
            while self.held_bytes > self.limit_bytes and len(self._kept) > 1:
                _, (_, dropped_bytes) = self._kept.popitem(last=False)
                self.held_bytes -= dropped_bytes

    def __len__(self) -> int:
        return len(self._kept)
