"""HTML attributes with a hyphen, which Python cannot write as keywords."""

from __future__ import annotations

from typing import Any


def attributes(**values: Any) -> dict[str, Any]:
    """Return ``data-`` and ``aria-`` attributes for a component.

    Examples
    --------
    >>> attributes(aria_label="Search")
    {'aria-label': 'Search'}
    """
    return {name.replace("_", "-"): value for name, value in values.items()}
