"""A search for findings that goes on while pages are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from .findings import Findings


class Search:
    """A search for findings in a thread of its own, which a page can look at meanwhile.

    Parameters
    ----------
    findings : Findings
    reading : callable
        See :meth:`~graphviz_app.findings.Findings.steps`.
    """

    def __init__(
        self, findings: Findings, reading: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self.findings = findings
        self.error = ""
        self.done = threading.Event()
        self._reading = reading
        self._thread = threading.Thread(target=self._run, name="findings", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for _ in self.findings.steps(self._reading):
                pass
        except Exception as error:  # shown on the page: there is nobody else to tell
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.done.set()
