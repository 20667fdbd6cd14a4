"""Start the recorder in a process that `cglens record` started, then step aside.

Python imports the first ``sitecustomize`` on its path at start-up; the folder of this one was put
on PYTHONPATH. It leaves no trace on ``sys.path`` and lets the environment's own ``sitecustomize``
have its turn, if there is one.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))

if sys.version_info >= (3, 11) and os.environ.get("CGLENS_RECORD"):
    try:
        import _cglens_bootstrap

        _cglens_bootstrap.start(os.environ["CGLENS_RECORD"])
    except Exception as _error:
        sys.stderr.write(f"cglens: not recording this process: {_error!r}\n")

sys.path[:] = [_path for _path in sys.path if not _path or os.path.abspath(_path) != _HERE]

from importlib.machinery import PathFinder as _PathFinder  # noqa: E402

_spec = _PathFinder.find_spec("sitecustomize", [p for p in sys.path if p])
if _spec is None or _spec.loader is None:
    # As if there were none: the interpreter passes over exactly this error.
    raise ImportError("no sitecustomize of the environment's own", name="sitecustomize")

_module = type(sys)("sitecustomize")
_module.__spec__ = _spec
_module.__file__ = _spec.origin
_module.__loader__ = _spec.loader
sys.modules["sitecustomize"] = _module
_spec.loader.exec_module(_module)
