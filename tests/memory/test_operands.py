"""Products and convolutions read their operands; the launches are those of golden recordings."""

from __future__ import annotations

from pathlib import Path

import capture
from capture.memory.accesses import Access, direction_text
from capture.memory.directions import Directions
from capture.memory.operands import operands_read
from capture.model import Kernel
from capture.nodes.kernel import KernelPayload

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "recordings"
NVJET = "nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_bias_TNT"


def test_each_launch_holds_two_operands_at_the_places_that_are_read() -> None:
    launches = 0
    for name in ("convnet_train", "unet_step", "moe_block"):
        recording = capture.read(RECORDINGS / f"{name}.cgl")
        for key in recording.graphs:
            for payload in recording.graph(key).payloads:
                if not isinstance(payload, KernelPayload) or payload.kernel is None:
                    continue
                data = payload.arguments or b""
                at = operands_read(payload.kernel.name, len(data))
                words = {int.from_bytes(data[byte : byte + 8], "little") for byte in at}
                assert len(words) in (0, 2, 2 + ("_bias_" in payload.kernel.name))
                launches += bool(at)
    assert launches > 40


def test_operands_are_read_and_of_the_rest_nothing_is_known() -> None:
    ways = Directions(Kernel(name=NVJET, parameters=[(0, 1720)]))
    texts = [
        direction_text(Access(0, 0, 8, *ways.of(0, byte), False)) for byte in (176, 240, 1632, 328)
    ]
    assert texts == ["reads", "reads", "reads", "may read and write"]


def test_structures_of_another_size_are_unknown() -> None:
    assert operands_read(NVJET, 1720)
    assert 1632 not in operands_read(NVJET.replace("_bias", ""), 1720)
    assert operands_read(NVJET, 1728) == operands_read("sm80_xmma_gemm_f32", 744) == ()
