"""Attributes of other modules and classes, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ReplacedAttributes:
    """Attributes that were replaced, so that they can be put back."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put ``make(original)`` in the place of an attribute that the owner itself has.

        Nothing happens where it has none, or where this was done already.
        """
        original = vars(owner).get(name)
        if original is None or any(item[0] is owner and item[1] == name for item in self._done):
            return
        ours = make(original)
        setattr(owner, name, ours)
        self._done.append((owner, name, original, ours))

    def put_back(self) -> None:
        """Put the originals back, except where somebody else replaced ours."""
        for owner, name, original, ours in reversed(self._done):
            if vars(owner).get(name) is ours:
                setattr(owner, name, original)
        self._done.clear()
