"""Predictions against what an H200's driver answered: the committed report, without a driver."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capture.compare import UpdateVerdict, update_verdict
from capture.extract import extract
from capture.model import GraphInfo, Kernel
from tests.compare.update_report import EXPLAINED, REPORT, entry_of
from tests.driver.test_contract import FakeWorld
from tests.helpers.update_pairs import PAIRS

ANSWERED: dict[str, dict[str, Any]] = json.loads(REPORT.read_text(encoding="utf-8"))["pairs"]
LEAST_PAIRS = 60


class World(FakeWorld):
    other_event = 0x2CE213E0
    array = 0x2C0FFEE0
    managed_buffer = 0x7EFC00000000
    other_host_function = 0x2000

    def kernel_named(self, name: str) -> Kernel:
        same = name == "tinier"
        return Kernel(name=name, parameters=self.kernel.parameters if same else [])


def predicted(name: str) -> UpdateVerdict:
    world = World(node_params=False)
    pair = PAIRS[name](world)
    before, after = (
        extract(world.driver, world.build(item)).graph for item in (pair.before, pair.after)
    )
    devices = (0, 1 if pair.elsewhere == "device" else 0)
    infos = [GraphInfo(key="", name="", device=device) for device in devices]
    return update_verdict(before, after, infos[0], infos[1], flags=pair.flags)


@pytest.mark.parametrize("name", ANSWERED)
def test_what_is_predicted_is_what_the_driver_answered(name: str) -> None:
    answered = ANSWERED[name]
    entry = entry_of(name, predicted(name), answered["driver"], answered.get("node", ""))
    assert entry["agrees"] != (name in EXPLAINED), entry
    assert entry == {key: value for key, value in answered.items() if key != "error"}


def test_every_pair_was_asked_but_those_that_take_another_device() -> None:
    # The machine of the report has one GPU.
    assert set(PAIRS) - set(ANSWERED) <= {name for name in PAIRS if "another device" in name}
    assert set(EXPLAINED) <= set(ANSWERED) <= set(PAIRS)
    assert len(ANSWERED) >= LEAST_PAIRS
    assert len({entry["driver"] for entry in ANSWERED.values()}) >= 7
