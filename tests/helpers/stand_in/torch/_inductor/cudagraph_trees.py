"""Captures as the compiler makes them: an empty one for the pool, then one per function."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import torch


class CompilationMode(enum.Enum):
    FORWARD = enum.auto()
    BACKWARD = enum.auto()


class CUDAGraphTreeManager:
    def __init__(self) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.pool = torch.cuda.graph_pool_handle()
        with torch.cuda.graph(self.graph, pool=self.pool, capture_error_mode="thread_local"):
            pass


class CUDAGraphNode:
    def __init__(
        self, manager: CUDAGraphTreeManager, function: Callable[[], Any], mode: CompilationMode
    ) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self._record(manager, function)

    def _record(self, manager: CUDAGraphTreeManager, function: Callable[[], Any]) -> None:
        with torch.cuda.graph(self.graph, pool=manager.pool, capture_error_mode="thread_local"):
            function()
