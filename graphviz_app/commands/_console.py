"""What commands print in a terminal: text as it is, and facts in two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..report_formats import clean

__all__ = ["clean", "facts", "make_console"]

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 200
"""Columns where no terminal says how wide: cut ones cannot be read."""


def make_console() -> Console:
    """Return a console for text as it is, which cuts nothing off when it is no terminal."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=PIPED_WIDTH)
    return console


def facts(console: Console, lines: list[tuple[str, str]]) -> None:
    """Print names and texts in two columns; empty texts are left out."""
    width = max((len(name) for name, text in lines if text), default=0)
    for name, text in lines:
        if text:
            console.print(f"{name:<{width}}  {clean(text)}", soft_wrap=True)
