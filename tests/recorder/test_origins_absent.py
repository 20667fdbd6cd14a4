"""Where origins cannot be had, or are not wanted, a recording says so and is whole otherwise."""

from __future__ import annotations

import pytest

from tests.recorder.conftest import Workplace

SCRIPT = """
    import torch

    x = torch.Tensor()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        torch.launch(x)
    g.replay()
    assert x.value == 1, x.value
"""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "operators of this torch cannot be watched"),
        (("--no-origins",), "switched off"),
    ],
)
def test_the_reason_is_told(place: Workplace, arguments: tuple[str, ...], reason: str) -> None:
    # The stand-in for torch has no dispatcher.
    place.write("script.py", SCRIPT)
    done = place.record(*arguments, "script.py")
    assert done.code == 0, done.err
    recording = done.recording()
    (info,) = recording.graphs.values()
    assert info.node_count == 1
    assert not info.evidence["origins"].present
    assert reason in info.evidence["origins"].reason
    assert recording.origins(info.key) is None
    assert recording.with_origins == []


def test_a_script_can_label_where_nothing_is_recorded(place: Workplace) -> None:
    place.write(
        "script.py",
        """
        import capture
        with capture.label("decoder"):
            print("fine")
        """,
    )
    done = place.python("script.py")
    assert (done.code, done.out) == (0, "fine\n"), done.err


def test_a_label_around_a_capture_names_the_graph(place: Workplace) -> None:
    recording = place.recorded(
        """
    import capture, torch

    for name in ("prefill", "decode"):
        with capture.label(name), torch.cuda.graph(torch.cuda.CUDAGraph()):
            torch.launch()
    """
    )
    assert [info.label for info in recording.graphs.values()] == ["prefill", "decode"]
    assert [key.partition("+")[2] for key in recording.graphs] == ["prefill", "decode"]
    assert all("label_from" not in info.extra for info in recording.graphs.values())
