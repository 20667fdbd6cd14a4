from __future__ import annotations

import pytest

from capture.model import Graph, Kernel
from capture.nodes.host import symbol_of
from tests.driver.contract import DriverContract, test_every_node_type_is_declared
from tests.helpers.fake_driver import FakeDriver

__all__ = ["test_every_node_type_is_declared"]


class FakeWorld:
    kernel = Kernel(
        name="_Z4tinyPfif",
        registers=12,
        static_shared_bytes=0,
        local_bytes=0,
        constant_bytes=0,
        max_threads_per_block=1024,
        ptx_version=90,
        binary_version=90,
        parameters=[(0, 8), (8, 4), (12, 4)],
    )
    function = 0x2C3CEF90
    buffer = 0x7EFAEBE00000
    other_buffer = 0x7EFACDA00000
    host_buffer = 0x7EFB00000000
    event = 0x2CE213D0
    host_function = 0x1000
    host_symbol = symbol_of(0x1000)
    semaphores = True

    def __init__(self, *, node_params: bool) -> None:
        self.driver = FakeDriver(node_params=node_params)

    def build(self, graph: Graph) -> int:
        return self.driver.build(graph)

    def occupancy(self, threads: int) -> int:
        return FakeDriver.blocks(threads)


@pytest.fixture(params=[False, True], ids=["bodies_from_dot", "bodies_from_params"])
def world(request: pytest.FixtureRequest) -> FakeWorld:
    return FakeWorld(node_params=request.param)


class TestFakeDriver(DriverContract):
    pass
