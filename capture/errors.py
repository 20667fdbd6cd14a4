"""Every error this package raises on purpose, in one tree.

::

    GraphLensError                      exit code 1
    ├── RecordingError                  the run that was to be recorded
    │   ├── NothingRecordedError        the script ran, no graph was captured      (exit code 4)
    │   ├── WorkloadError               MODULE:FUNCTION or SCRIPT cannot be run
    │   ├── AlreadyRecordingError       two recorders in one process
    │   └── MissingDependencyError      torch, cuda-python … not installed or too old
    ├── DriverError                     the CUDA driver answered with an error code
    │   ├── NoGpuError                  no driver, or a driver without a device
    │   └── NotSupportedError           this driver lacks the call
    ├── FormatError                     a file cannot be read as what it claims to be
    │   ├── UnknownFormatError          no format recognises the file
    │   ├── TruncatedError              the file ends too early
    │   ├── NewerVersionError           written by a newer cudagraph-lens
    │   ├── TooLargeError               a bound on size, depth or count was passed
    │   └── InvalidGraphError           an edge to a missing node, a body without an owner …
    ├── OutputError                     the output cannot be written
    ├── LookupFailed                    no such graph, node, format … in what was opened
    └── ExtensionError                  an extension point's entry is unusable

The command line prints ``str(error)`` on one line of stderr and exits with ``error.exit_code``.
Messages say what was found, what was expected and the way out.
"""

from __future__ import annotations

from typing import ClassVar


class GraphLensError(Exception):
    """Base of every expected failure; its text is fit for a user's eyes."""

    exit_code: ClassVar[int] = 1


class RecordingError(GraphLensError):
    """The run that was to be recorded could not be."""


class NothingRecordedError(RecordingError):
    """The workload ran to its end and captured no CUDA graph."""

    exit_code = 4


class WorkloadError(RecordingError):
    """The script, module or function named by the user cannot be run."""


class AlreadyRecordingError(RecordingError):
    """A recorder is already active in this process."""


class MissingDependencyError(RecordingError):
    """A package that recording needs is not installed, or is too old."""


class DriverError(GraphLensError):
    """A driver call failed.

    Parameters
    ----------
    call : str
        Name of the driver function, such as ``"cuGraphGetNodes"``.
    code : int
        Its ``CUresult``.
    name : str
        The result's name, such as ``"CUDA_ERROR_INVALID_VALUE"``.
    explanation : str, optional
        The driver's or our own sentence about it.
    """

    def __init__(self, call: str, code: int, name: str, explanation: str = "") -> None:
        self.call = call
        self.code = code
        self.name = name
        self.explanation = explanation
        text = f"{call} answered {name} ({code})"
        super().__init__(f"{text}: {explanation}" if explanation else text)


class NoGpuError(DriverError):
    """There is no CUDA driver on this machine, or it has no device."""


class NotSupportedError(DriverError):
    """The driver does not have the call that was asked for."""


class FormatError(GraphLensError):
    """A file cannot be read as the format it claims to be."""


class UnknownFormatError(FormatError):
    """No known format recognises the file."""


class TruncatedError(FormatError):
    """The file ends before its content does."""


class NewerVersionError(FormatError):
    """The file was written by a newer version of cudagraph-lens."""


class TooLargeError(FormatError):
    """A bound on size, depth or count was passed."""


class InvalidGraphError(FormatError):
    """The content contradicts itself, such as an edge to a node that is not there."""


class OutputError(GraphLensError):
    """The output cannot be written where it was asked for."""


class LookupFailed(GraphLensError):
    """Nothing of that name is in what was opened."""


class ExtensionError(GraphLensError):
    """An entry of an extension point cannot be used."""
