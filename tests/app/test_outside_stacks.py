"""Stacks of work outside graphs on the page of analyses, of a recording that was made up here."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from capture.model import Recording
from capture.origins import Frame
from capture.outside import BETWEEN, Outside
from graphviz_app.app import create_app
from graphviz_app.ids import Shell
from graphviz_app.store import Store
from tests.helpers import origins

from .test_app import page_at

LINE = origins.line_of(origins.SOURCE, "self.down(F.gelu")
OTHER = "/elsewhere/data.py"


def recording() -> Recording:
    made = origins.recording(origins.transformer(1))
    launched = origins.user("self.down(F.gelu", "Mlp.forward")
    frames = [origins.library("/lib/torch/_ops.py", 5, "__call__"), launched]
    outside = Outside(
        process="0",
        windows=1,
        window_ns=1_000,
        outside_ns=300,
        name=["host to device", "device to host"],
        type=["memcpy", "memcpy"],
        stream=[7, 7],
        place=[BETWEEN, BETWEEN],
        count=[3, 1],
        total_ns=[200, 100],
        longest_ns=[90, 100],
        stack=[0, 1],
        autograd=["MulBackward0", ""],
        frames=[*frames, Frame(OTHER, 12, "batches")],
        stacks=[(0, 1), (2,)],
    )
    made._evidence["outside"] = {"0": outside}
    return made


@pytest.fixture(scope="module")
def content() -> str:
    made = recording()
    app = create_app(Store([("o", made)]))
    search = f"?graph={quote(next(iter(made.graphs)))}&view=outside_graphs"
    return json.dumps(page_at(app, "/analyses", search)[Shell.CONTENT])


def test_each_piece_of_work_has_its_stack(content: str) -> None:
    assert "Launched from" in content
    assert "MulBackward0" in content
    assert "1 library frame, innermost __call__" in content
    assert f"{OTHER}:12 batches" in content


def test_lines_lead_to_the_page_of_source_where_it_has_their_file(content: str) -> None:
    assert "Mlp.forward" in content
    assert f"view={origins.FILE}:{LINE}" in content
    assert f"view={OTHER}:12" not in content
