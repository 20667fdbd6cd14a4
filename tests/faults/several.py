"""Run several scripts one after the other, each as the main module of this process.

Their modules are kept until the end, as that of a script alone is: what a script still holds when
it is done it holds until the process ends. Exit code 1 where any of them fails.
"""

from __future__ import annotations

import sys
import traceback
import types
from pathlib import Path

if __name__ == "__main__":
    kept = [sys.modules["__main__"]]
    failed = False
    for path in sys.argv[1:]:
        module = types.ModuleType("__main__")
        module.__file__ = path
        sys.modules["__main__"] = module
        kept.append(module)
        try:
            exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), vars(module))
        except Exception:
            traceback.print_exc()
            failed = True
    sys.exit(int(failed))
