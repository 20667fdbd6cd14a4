"""How tests are spread over two workers: browser tests on one, files as a whole on the other.

A file's fixtures are then made once. The browser's tests are the longest, so they begin at once; a
second browser would only take turns with the first on two cores.
"""

from __future__ import annotations

from pathlib import Path

import pytest

BROWSER = Path(__file__).parent / "browser"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group items for ``--dist loadgroup``, the browser's first."""
    if config.getoption("dist", "no") != "loadgroup":
        return
    for item in items:
        group = "browser" if BROWSER in item.path.parents else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: BROWSER not in item.path.parents)
