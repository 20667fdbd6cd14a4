"""Main file of a dry run: ``ready_runner.py RESULT LIMIT_S KIND TARGET ARGS...``.

KIND is ``script``, ``module`` or ``function``. The result is written whatever happens.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


class TimeIsUp(BaseException):
    """Raised in the main thread when the limit is over."""


def load(name: str, path: str) -> Any:
    """Import a file under a name of ours."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Run the workload dry; return 0 unless we could not even try."""
    result, limit, kind, target, *args = sys.argv[1:]
    if sys.path and os.path.abspath(sys.path[0]) == HERE:
        sys.path[0] = os.getcwd()
    bootstrap = load("_cglens_bootstrap", os.path.join(HERE, "site", "_cglens_bootstrap.py"))
    runner = load("_cglens_runner", os.path.join(HERE, "runner.py"))
    bootstrap.load()
    sys.meta_path.insert(0, bootstrap.PublicName())
    readiness = importlib.import_module(bootstrap.PRIVATE + ".recorder.readiness")
    document = readiness.Readiness(target=target)
    try:
        dry = importlib.import_module(bootstrap.PRIVATE + ".recorder.torch_ready")
    except ImportError as error:
        document.ended = readiness.FAILED
        document.failure = readiness.Failure(
            error="ImportError",
            message=f"{error}: a dry run needs torch 2.11 or newer; a CPU build will do "
            f"(https://pytorch.org/get-started)",
        )
        readiness.write(document, Path(result))
        return 0
    run = dry.DryRun(document)
    document.ended = readiness.DONE
    signal.signal(signal.SIGALRM, _time_is_up)
    signal.alarm(int(limit))
    run.begin()
    try:
        workload(runner, run, kind, target, args)
    except SystemExit as error:
        if error.code not in (None, 0):
            document.ended = readiness.FAILED
            run.log.failed(error)
    except (TimeIsUp, KeyboardInterrupt):
        document.ended = readiness.STOPPED
    except BaseException as error:
        document.ended = readiness.FAILED
        run.log.failed(error)
    finally:
        signal.alarm(0)
        run.end()
        readiness.write(document, Path(result))
    sys.stdout.flush()
    sys.stderr.flush()
    # What the script leaves for the end of the process would run without the stand-ins.
    os._exit(0)


def _time_is_up(number: int, frame: Any) -> None:
    raise TimeIsUp


def workload(runner: Any, run: Any, kind: str, target: str, args: list[str]) -> None:
    """Run a script, a module or a function."""
    if kind == "function":
        where, _, path = target.rpartition(":")
        sys.argv = [target, *args]
        runner.use_as_first(os.getcwd())
        module = (
            runner.import_file(where) if where.endswith(".py") else importlib.import_module(where)
        )
        function: Any = module
        for part in path.split("."):
            function = getattr(function, part)
        run.check(function, path)
        return
    sys.argv = [target, *args]
    if kind == "module":
        runner.use_as_first(os.getcwd())
        runpy.run_module(target, run_name="__main__", alter_sys=True)
        return
    runner.use_as_first(os.path.dirname(os.path.realpath(target)))
    names = runpy.run_path(target, run_name="__main__")
    function = names.get("workload")
    if callable(function) and not run.log.readiness.regions:
        run.check(function, "workload")


if __name__ == "__main__":
    sys.exit(main())
