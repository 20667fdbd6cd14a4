"""A pytest fixture that captures a function and holds its graphs against a policy.

Switch it on in a ``conftest.py`` with ``pytest_plugins = ["capture.pytest_plugin"]``, then::

    def test_step(cuda_graph_check):
        cuda_graph_check(step, batch, policy="policy.toml", baseline="main.cgl")

A broken rule fails the test, and so does one that cannot be told, unless ``allow_unknown=True``.
Without a GPU the test is skipped; with ``REQUIRE_GPU=1`` it fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from .compare.gate import Check, State, check_recording
from .errors import MissingDependencyError, NoGpuError
from .model import Recording
from .policy import Policy, read_policy

File = str | PathLike[str]


class GraphCheck:
    """What the fixture ``cuda_graph_check`` is."""

    def __call__(
        self,
        subject: Recording | File | Callable[..., Any],
        *args: Any,
        policy: Policy | File | None = None,
        baseline: Recording | File | None = None,
        replays: int = 0,
        allow_unknown: bool = False,
        **kwargs: Any,
    ) -> Recording:
        """Hold a recording, a file or a function's graphs against a policy.

        Parameters
        ----------
        subject : Recording, path or callable
            A callable is captured with the arguments, see :func:`capture.capture`.
        policy : Policy or path, optional
            Without one, the defaults of :class:`~capture.policy.Policy`.
        baseline : Recording or path, optional
        replays : int
            Of a captured function, so that it has times.
        allow_unknown : bool
            Do not fail for rules that cannot be told.

        Returns
        -------
        Recording
            To assert more about it.
        """
        __tracebackhide__ = True
        recording = self._recording(subject, args, kwargs, replays)
        rules = policy if isinstance(policy, Policy) else Policy()
        if policy is not None and not isinstance(policy, Policy):
            rules = read_policy(Path(policy))
        checks = check_recording(recording, rules, None if baseline is None else _opened(baseline))
        wrong = {State.BROKEN} if allow_unknown else {State.BROKEN, State.UNKNOWN}
        found = [check for check in checks if check.state in wrong]
        if found:
            pytest.fail("\n".join(map(_line, found)), pytrace=False)
        return recording

    def _recording(
        self,
        subject: Recording | File | Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        replays: int,
    ) -> Recording:
        if isinstance(subject, (Recording, str, PathLike)):
            return _opened(subject)
        from .recorder import capture

        try:
            return capture(subject, *args, replays=replays, **kwargs)
        except (MissingDependencyError, NoGpuError) as error:
            if os.environ.get("REQUIRE_GPU") == "1":
                pytest.fail(f"REQUIRE_GPU=1, but {error}", pytrace=False)
            pytest.skip(str(error))


def _opened(source: Recording | File) -> Recording:
    if isinstance(source, Recording):
        return source
    from .formats import read

    return read(source)


def _line(check: Check) -> str:
    where = f" of {check.graph}" if check.graph else ""
    state = "broken" if check.state is State.BROKEN else "could not tell"
    return f"{state}: {check.rule}{where}: {check.words}"


@pytest.fixture
def cuda_graph_check() -> GraphCheck:
    """Return a function that holds recordings, or a function's graphs, against a policy."""
    return GraphCheck()
