"""Attributes that we replace are put back, and what others did on top of them stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from capture.recorder.replaced import ReplacedAttributes


def twice(original: Any) -> Any:
    return lambda: 2 * original()


def test_what_was_replaced_is_put_back() -> None:
    owner = SimpleNamespace(one=lambda: 1)
    original, replaced = owner.one, ReplacedAttributes()
    replaced.replace(owner, "one", twice)
    replaced.replace(owner, "one", twice)  # done already
    replaced.replace(owner, "none", twice)  # not there
    assert owner.one() == 2
    assert not hasattr(owner, "none")
    replaced.put_back()
    assert owner.one is original


def test_what_somebody_else_put_on_top_stays() -> None:
    owner = SimpleNamespace(one=lambda: 1)
    replaced = ReplacedAttributes()
    replaced.replace(owner, "one", twice)
    owner.one = theirs = twice(owner.one)
    replaced.put_back()
    assert owner.one is theirs
    assert owner.one() == 4
