"""Say what this machine can record, and what to do about the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from capture.errors import GraphLensError

from . import Command
from ._options import JSON

TIMEOUT_S = 300
"""First use of CUDA on a large machine takes its time; more is a hang."""


def probe() -> list[dict[str, Any]]:
    """Run the checks in a process of their own; return them, a crash included.

    Raises
    ------
    GraphLensError
        The process cannot be started.
    """
    import capture

    file = Path(capture.__file__).parent / "recorder" / "torch_probe.py"
    try:
        done = subprocess.run(  # noqa: S603 - our own file
            [sys.executable, str(file)], capture_output=True, timeout=TIMEOUT_S, check=False
        )
        output, ended = done.stdout, f"ended with exit code {done.returncode}"
        code, complaints = done.returncode, done.stderr
    except subprocess.TimeoutExpired as error:
        output, ended, code = error.stdout or b"", f"did not end in {TIMEOUT_S} s", 1
        complaints = error.stderr or b""
    except OSError as error:
        raise GraphLensError(f"cannot start {sys.executable}: {error}") from error
    checks: dict[str, dict[str, Any]] = {}
    for line in output.splitlines():
        try:
            check = json.loads(line)
        except ValueError:
            continue  # a library that prints
        checks[check["name"]] = check
    if code:
        last = complaints.decode(errors="replace").strip().rpartition("\n")[2]
        for check in checks.values():
            if check["state"] == "started":
                check |= {
                    "state": "missing",
                    "found": f"the check {ended}{': ' + last if last else ''}",
                    "fix": "run `nvidia-smi`; if that works, please report this",
                }
    return list(checks.values())


@click.command()
@JSON
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check GPU, driver, torch and the packages that recording needs, each with its fix.

    Exit code 0 when graphs can be recorded here, else 1. Graphs captured through torch are
    observed; of CuPy, JAX or the bare driver only what `capture.from_graph(handle)` is given.
    """
    checks = probe()
    possible = bool(checks) and all(check["state"] != "missing" for check in checks)
    if as_json:
        click.echo(json.dumps({"can_record": possible, "checks": checks}, indent=2))
    else:
        for check in checks:
            click.echo(f"{check['state']:<8} {check['name']:<14} {check.get('found', '')}")
            if check.get("fix"):
                click.echo(f"{'':<23} {check['fix']}")
        click.echo("this machine can record" if possible else "this machine cannot record")
    ctx.exit(0 if possible else 1)


COMMAND = Command(name="doctor", command=doctor)
