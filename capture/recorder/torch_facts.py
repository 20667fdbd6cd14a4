"""What runs in this process: versions and devices."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from typing import Any

from ..driver.protocol import Driver
from ..errors import DriverError

DISTRIBUTIONS = ("cuda-bindings", "cupti-python", "nvidia-cudnn-cu13", "triton", "msgspec")
"""Distributions whose versions explain what a recording holds."""


def versions() -> dict[str, str]:
    """Return the versions of Python, torch and what recording stands on; absent ones left out."""
    from importlib import metadata

    from .. import __version__

    found = {"python": platform.python_version(), "cudagraph-lens": __version__}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(getattr(torch, "__version__", "unknown"))
    built_for = getattr(getattr(torch, "version", None), "cuda", None)
    if built_for:
        found["torch_cuda"] = str(built_for)
    for name in DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def describe(driver: Driver) -> tuple[dict[str, str], list[Any], list[str]]:
    """Return (versions, gpus, warnings) of this process."""
    found = versions()
    gpus: list[Any] = []
    warnings: list[str] = []
    try:
        number = driver.version()
        found["driver_cuda"] = f"{number // 1000}.{number % 1000 // 10}"
        gpus = driver.devices()
    except DriverError as error:
        warnings.append(f"the devices could not be described: {error}")
    with suppress(OSError), open("/proc/driver/nvidia/version", encoding="utf-8") as stream:
        words = stream.readline().split()
        number_like = [word for word in words if word[:1].isdigit() and "." in word]
        if number_like:
            found["driver"] = number_like[0]
    return found, gpus, warnings
