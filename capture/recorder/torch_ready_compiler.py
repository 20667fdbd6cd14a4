"""Compilers in a dry run: functions run as they were written, kernels of Triton not at all."""

from __future__ import annotations

import functools
import importlib.abc
import sys
from typing import Any

import torch

from .ready_log import Log


def install(log: Log) -> None:
    """Run compiled functions eagerly and pass over Triton kernels."""
    torch._dynamo.config.disable = True
    compiler: Any = torch
    compiler.compile = _compile(log)
    sys.meta_path.insert(0, _Triton(log))
    if "triton.runtime.jit" in sys.modules:
        _skip_kernels(log)


def _compile(log: Log) -> Any:
    def compile_(model: Any = None, **options: Any) -> Any:
        if model is None:
            return functools.partial(compile_, **options)
        log.limit(
            "torch.compile: compiled functions ran as they were written; what the compiler makes "
            "of them, and what it leaves out of its graphs, shows in `cglens record`."
        )
        triton = options.get("options") or {}
        makes_graphs = options.get("mode") in ("reduce-overhead", "max-autotune") or bool(
            triton.get("triton.cudagraphs")
        )
        return _checked(log, model) if makes_graphs else model

    return compile_


def _checked(log: Log, model: Any) -> Any:
    if isinstance(model, torch.nn.Module):
        kind = type(model)

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            log.begin(f"torch.compile of {kind.__name__}", compiled=True)
            try:
                return kind.__call__(module, *args, **kwargs)
            finally:
                log.end()

        model.__class__ = type(kind.__name__, (kind,), {"__call__": call})
        return model

    @functools.wraps(model)
    def function(*args: Any, **kwargs: Any) -> Any:
        log.begin(f"torch.compile of {model.__name__}", compiled=True)
        try:
            return model(*args, **kwargs)
        finally:
            log.end()

    return function


class _Triton(importlib.abc.MetaPathFinder):
    """Waits for Triton to be imported."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find nothing; patch Triton once its runtime is there."""
        if "triton.runtime.jit" in sys.modules and "triton.runtime.autotuner" in sys.modules:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _skip_kernels(self._log)
        return None


def _skip_kernels(log: Log) -> None:
    from importlib import import_module

    for where, names in (
        ("triton.runtime.jit", ("JITFunction",)),
        ("triton.runtime.autotuner", ("Autotuner", "Heuristics")),
    ):
        module = import_module(where)
        for name in names:
            kind = getattr(module, name, None)
            if kind is not None:
                kind.run = _skipped(log)


def _skipped(log: Log) -> Any:
    def run(kernel: Any, *args: Any, **kwargs: Any) -> None:
        log.limit(
            "Triton kernels were not run: that they are compiled and tuned before the capture is "
            "not checked."
        )

    return run
