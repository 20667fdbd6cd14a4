"""The benchmark of pointers judges as it says, on a made-up capture."""

from __future__ import annotations

from tests.benchmarks.pointer_scores import score_graph
from tests.benchmarks.tensor_log import Call, Captured, Range
from tests.helpers.synthetic_memory import BASE, PINNED, POOL, graph, kernel, memory


def test_right_wrong_missed_and_not_passed() -> None:
    # One call: a tensor that is found, one that is not passed, and a leftover beside it. Its
    # temporary is the second allocation of the made-up history.
    nodes = graph([kernel("plain", BASE + 8, POOL + 1024, BASE + 600)])
    tensors = [
        Range(BASE, BASE + 64, "input 0", True, (BASE, BASE + 512)),
        Range(POOL, POOL + 64, "output", True, (POOL, POOL + 64)),
    ]
    call = Call("aten::relu", False, tensors, begun_us=6, ended_us=9)
    scores, examples = score_graph(nodes, memory(), Captured({0: call}, [0]))
    (score,) = scores.values()
    assert (dict(score.right), score.wrong) == ({"tensor": 1, "temporary": 1}, 1)
    assert (score.tensors, score.found, score.missed, score.not_passed) == (2, 1, 0, 1)
    assert [text.split()[0] for text in examples] == ["WRONG", "not"]


def test_an_address_that_no_pointer_leads_to_is_missed() -> None:
    # Eight bytes that no reader looks at, since they do not stand at a multiple of eight.
    launch = kernel("plain", 0, 0)
    launch.arguments = bytes(4) + BASE.to_bytes(8, "little") + bytes(4)
    call = Call("aten::relu", False, [Range(BASE, BASE + 64, "x", True, (BASE, BASE + 64))], 0, 1)
    scores, _ = score_graph(graph([launch]), memory(), Captured({0: call}, [0]))
    assert scores["aten"].document()["recall"] == 0


def test_the_end_of_a_tensor_is_right_only_in_the_block_that_it_ends() -> None:
    # Both words are one past a tensor: of a part of a block, and of a whole one.
    nodes = graph([kernel("plain", BASE + 64, BASE + 512, size=16)])
    tensors = [
        Range(BASE, BASE + 64, "input 0", True, (BASE, BASE + 64)),
        Range(BASE + 448, BASE + 512, "input 1", True, (BASE + 448, BASE + 512)),
    ]
    call = Call("aten::relu", False, tensors, begun_us=6, ended_us=9)
    scores, examples = score_graph(nodes, memory(), Captured({0: call}, [0]))
    (score,) = scores.values()
    assert (dict(score.right), score.wrong) == ({"end": 1}, 1)
    assert examples[0].startswith("WRONG aten aten::relu argument 0 byte 8 in block free")
    assert dict(score.without) == {"aten::relu input 0": 1, "aten::relu input 1": 1}


def test_memory_of_a_library_is_right_where_several_nodes_hold_its_start() -> None:
    # Of two launches each holds the start of memory outside torch, and one a byte inside it.
    name = "_ZN5cudnn4normE"
    nodes = graph([kernel(name, PINNED, PINNED + 8), kernel(name, PINNED, 0)])
    calls = {
        row: Call("aten::cudnn_batch_norm", False, [], begun_us=row, ended_us=row)
        for row in range(2)
    }
    scores, _ = score_graph(nodes, memory(), Captured(calls, [0, 1]))
    (score,) = scores.values()
    assert (dict(score.right), score.wrong) == ({"the library's own": 2}, 1)
    alone = graph([kernel(name, PINNED)])
    scores, _ = score_graph(alone, memory(), Captured(calls, [0]))
    assert scores["cuDNN"].wrong == 1
