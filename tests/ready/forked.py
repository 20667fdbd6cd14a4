"""Runs dry runs one after another in forks of one process that has imported torch already.

``forked.py FOLDER SCRIPT...`` writes ``FOLDER/NAME.json`` for each script. Importing torch takes
seconds and a dry run of a small script a tenth of one.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDER = ROOT / "capture" / "recorder"


def main() -> None:
    """Fork once for each script."""
    folder, *scripts = sys.argv[1:]
    sys.path.insert(0, str(RECORDER))
    runner = importlib.import_module("ready_runner")
    del sys.path[0]
    bootstrap = runner.load("_cglens_bootstrap", str(RECORDER / "site" / "_cglens_bootstrap.py"))
    bootstrap.load()
    importlib.import_module(bootstrap.PRIVATE + ".recorder.torch_ready")
    _import_what_operators_need()
    for script in scripts:
        child = os.fork()
        if child == 0:
            result = Path(folder) / f"{Path(script).stem}.json"
            sys.argv = ["ready_runner.py", str(result), "60", "script", script]
            runner.main()
        os.waitpid(child, 0)


def _import_what_operators_need() -> None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        layer = torch.nn.TransformerEncoderLayer(4, 2)
        optimizer = torch.optim.AdamW(layer.parameters())
        layer(torch.randn(2, 2, 4)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
