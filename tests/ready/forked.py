"""Runs dry runs one after another in forks of one process that has imported torch already.

``forked.py FOLDER`` reads lines ``NAME KIND TARGET ARGS...``, each a list in JSON, and writes
``FOLDER/NAME.json`` for each. Importing torch takes seconds and a dry run of a small script a tenth
of one.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDER = ROOT / "capture" / "recorder"


def main() -> None:
    """Fork once for each workload."""
    (folder,) = sys.argv[1:]
    sys.path.insert(0, str(RECORDER))
    runner = importlib.import_module("ready_runner")
    del sys.path[0]
    bootstrap = runner.load("_cglens_bootstrap", str(RECORDER / "site" / "_cglens_bootstrap.py"))
    bootstrap.load()
    importlib.import_module(bootstrap.PRIVATE + ".recorder.torch_ready")
    _import_what_operators_need()
    for line in sys.stdin.read().splitlines():
        name, *words = json.loads(line)
        child = os.fork()
        if child == 0:
            sys.argv = ["ready_runner.py", str(Path(folder) / f"{name}.json"), "60", *words]
            runner.main()
        os.waitpid(child, 0)


def _import_what_operators_need() -> None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        layer = torch.nn.TransformerEncoderLayer(4, 2)
        optimizer = torch.optim.AdamW(layer.parameters())
        layer(torch.randn(2, 2, 4))
        # No backward: autograd's threads, where torch knows CUDA, do not live on in a fork.
        for parameter in layer.parameters():
            parameter.grad = torch.empty_like(parameter)
        optimizer.step()


if __name__ == "__main__":
    main()
