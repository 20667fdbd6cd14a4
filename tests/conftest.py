"""How `--dist loadfile` spreads tests over workers: whole files, and the browser's all on one.

A file's fixtures are then made once, and there is one browser: two would only take turns on two
cores. Its tests are the longest, so they begin at once.
"""

from __future__ import annotations

from typing import Any

import pytest

BROWSER = "tests/browser/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser's tests first."""
    items.sort(key=lambda item: not item.nodeid.startswith(BROWSER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler for which all of the browser's files are one."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class OneBrowser(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)

    return OneBrowser(config, log)
