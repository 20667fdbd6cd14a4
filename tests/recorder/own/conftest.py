"""Graphs on the fake driver, ready for replays of our own."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from capture.memory.addresses import Block, BlockMap
from capture.model import Graph
from capture.recorder.own.saved_state import SavedState
from capture.recorder.own.setup import Setup
from capture.recorder.own.stopwatch import Stopwatch
from tests.driver.test_contract import FakeWorld
from tests.helpers.declared import Declared, graph, kernel

SIZE = 4096


class Bench:
    """A world with memory, and setups of graphs in it."""

    def __init__(self) -> None:
        self.world = FakeWorld(node_params=False)
        self.driver: Any = self.world.driver
        self.memory = self.driver.allocate(SIZE)
        self.driver.fill(self.memory, SIZE, 0, 0)
        self.blocks = BlockMap([Block(self.memory, SIZE)])

    def adds(self, count: int, index: int = 0) -> Graph:
        """Declare a chain of kernels that add 0.5 to a float."""
        arguments = struct.pack("<Qif", self.memory, index, 0.5)
        nodes = [kernel(self.world, arguments=arguments) for _ in range(count)]
        return graph(nodes, [(at, at + 1) for at in range(count - 1)])

    def mixed(self) -> Graph:
        return graph([*self.nodes(self.adds(2)), Declared("empty")], [(0, 1), (1, 2)])

    @staticmethod
    def nodes(built: Graph) -> list[Declared]:
        return [Declared(node.type, node.payload) for node in built.nodes()]

    def setup(self, built: Graph) -> Setup:
        clone = self.driver.clone(self.world.build(built))
        state = SavedState(self.driver, [])
        watch = Stopwatch(self.driver, hung_after_s=0.2)
        return Setup(self.driver, built, clone, self.driver.nodes(clone), state, watch)

    def value(self, index: int = 0) -> float:
        import ctypes

        return float(ctypes.c_float.from_address(self.memory + 4 * index).value)


@pytest.fixture
def bench() -> Bench:
    return Bench()
