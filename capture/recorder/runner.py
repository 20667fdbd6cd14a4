"""Main file of a child that records a function: ``runner.py function MODULE:FUNCTION ARGS...``.

``runner.py script FILE ARGS...`` runs a script that defines ``workload()`` and captures that
afterwards, if the script itself captured nothing. Scripts without one are started by Python
directly and never see this file.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

PRIVATE = "_cudagraph_lens_capture"


def main() -> None:
    """Run what the command line says; leave with its exit code."""
    kind, name, *args = sys.argv[1:]
    bootstrap = sys.modules.get("_cglens_bootstrap")
    if bootstrap is None:
        fail("this interpreter ignores the environment (-I, -E or -S): it cannot be recorded", 1)
    assert bootstrap is not None
    if kind == "script":
        run_script(bootstrap, name, args)
    else:
        run_function(bootstrap, name, args)


def run_script(bootstrap: Any, path: str, args: list[str]) -> None:
    """Run a file as ``__main__``, then capture its ``workload()`` if it captured nothing."""
    file = os.path.abspath(path)
    sys.argv = [path, *args]
    use_as_first(os.path.dirname(os.path.realpath(file)))
    module = types.ModuleType("__main__")
    module.__file__ = file
    module.__dict__["__builtins__"] = __builtins__
    from importlib.machinery import SourceFileLoader

    module.__loader__ = SourceFileLoader("__main__", file)
    module.__dict__["__cached__"] = None
    sys.modules["__main__"] = module
    with open(file, "rb") as stream:
        source = stream.read()
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    except Exception as error:
        show(error)
        sys.exit(1)
    workload = getattr(module, "workload", None)
    if callable(workload):
        session = recorder(bootstrap)
        if not session.captured_count and not session.failed_count:
            capture(session, workload, "workload")


def run_function(bootstrap: Any, name: str, args: list[str]) -> None:
    """Import a module and capture one of its functions."""
    where, _, path = name.rpartition(":")
    sys.argv = [name, *args]
    use_as_first(os.getcwd())
    try:
        if where.endswith(".py"):
            module = import_file(where)
        else:
            module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is not None and (where == error.name or where.startswith(error.name + ".")):
            fail(f"there is no module {where!r} in {os.getcwd()} or on Python's path", 1)
        show(error)
        sys.exit(1)
    except Exception as error:
        show(error)
        sys.exit(1)
    function: Any = module
    for part in path.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        found = "has no" if function is None else f"is a {type(function).__name__}, no function:"
        fail(f"{where} {found} {path!r}: name a function that takes no arguments", 1)
    capture(recorder(bootstrap), function, path)


def import_file(path: str) -> types.ModuleType:
    """Import a file as a module named after it."""
    from importlib.util import module_from_spec, spec_from_file_location

    file = os.path.abspath(path)
    use_as_first(os.path.dirname(file))
    name = os.path.basename(file)[:-3]
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def use_as_first(folder: str) -> None:
    """Put a folder where Python puts a script's own."""
    if sys.flags.safe_path:
        return
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        sys.path[0] = folder
    elif folder not in sys.path[:1]:
        sys.path.insert(0, folder)


def recorder(bootstrap: Any) -> Any:
    """Return this process's session, started if torch was not imported yet."""
    try:
        bootstrap.load()
        process = importlib.import_module(PRIVATE + ".recorder.process")
    except ImportError as error:
        fail(f"{error.name} is not installed for {sys.executable}, which recording needs", 1)
    return process.start(os.environ["CGLENS_RECORD"], sys.modules.get("torch.cuda.graphs"))


def capture(session: Any, function: Any, name: str) -> None:
    """Capture a function; its errors are shown as a script's are, ours as one line."""
    errors = importlib.import_module(PRIVATE + ".errors")
    captures = importlib.import_module(PRIVATE + ".recorder.torch_capture")
    api = importlib.import_module(PRIVATE + ".recorder.api")
    try:
        handle = captures.capture_function(session, function)
        if handle is not None:
            api.add_handle(handle, name, captures.place_of(function))
    except errors.GraphLensError as error:
        fail(str(error), error.exit_code)
    except Exception as error:
        show(error)
        sys.exit(1)


def show(error: BaseException) -> None:
    """Print a traceback as Python would, without the frames of this file."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)


def fail(text: str, code: int) -> None:
    """Say what is wrong and leave."""
    sys.stderr.write(f"cglens: {' '.join(text.split())}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
