"""Ready-made commands for NVIDIA's kernel profiler, built from what was recorded."""

from __future__ import annotations

import re
import shlex

from capture.model import Recording

NCU = ("ncu", "--graph-profiling", "node")
NOTE = (
    "Profiles one launch of this kernel inside a graph, node by node. Nsight Compute replays the "
    "kernel several times, so what it reports is no replay's time."
)


def workload_command(recording: Recording) -> list[str]:
    """Return the recorded command as it runs without recording; empty when it is not known.

    Notes
    -----
    A function (``MODULE:FUNCTION``) is captured by the recorder, so it runs through
    ``cglens record`` there too.
    """
    command = recording.metadata.command
    if not command or recording.metadata.source not in ("", "recorded"):
        return []
    first = command[0]
    if first != "-m" and ":" in first and not first.endswith(".py"):
        # One subscriber of CUPTI at a time, and the profiler is one.
        return ["cglens", "record", "--timings", "0", *command]
    if first == "-m" or first.endswith(".py"):
        return ["python", *command]
    return list(command)


def ncu_command(recording: Recording, kernel: str) -> str:
    """Return the command that profiles one launch of a kernel, for a shell.

    Parameters
    ----------
    recording : Recording
    kernel : str
        Mangled name. The match is on the whole name.

    Returns
    -------
    str
        Empty when the recording does not hold the command, or the kernel has no name.
    """
    command = workload_command(recording)
    if not command or not kernel:
        return ""
    # A generated kernel of one name may be launched with every shape: one launch is enough.
    words = [*NCU, "--kernel-name-base", "mangled", "--kernel-name"]
    words += [f"regex:^{re.escape(kernel)}$", "--launch-count", "1"]
    if command[0] == "cglens":
        words += ["--target-processes", "all"]
    return shlex.join([*words, *command])
