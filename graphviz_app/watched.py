"""``cglens`` as the child of a dashboard: it ends, with all it started, when the dashboard does.

The dashboard holds the other end of this process's standard input. When that closes, because a
measurement was cancelled or the dashboard is gone for whatever reason, the whole group of
processes is ended. The child has to lead a group of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

PATIENCE_S = 3.0
"""Between asking the processes to end and making them."""


def main() -> None:
    """Run the command line in ``sys.argv``; leave with its exit code."""
    from .cli import main as run

    watch(take_input())
    sys.exit(run(sys.argv[1:]))


def take_input() -> int:
    """Move standard input away from the workload, and return where it is now."""
    lifeline = os.dup(0)  # not inherited by children
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return lifeline


def watch(lifeline: int) -> None:
    """End this group of processes once a pipe is closed at its other end."""

    def wait() -> None:
        while os.read(lifeline, 4096):
            pass
        os.killpg(0, signal.SIGTERM)
        time.sleep(PATIENCE_S)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
