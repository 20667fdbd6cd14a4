"""Totals by module, operator and source line, on synthetic origins."""

from __future__ import annotations

import pytest

from capture.analysis import Result, Subject, run_analysis
from capture.analysis.module_memory import held_by_module
from capture.analysis.module_tree import module_classes, module_tree
from capture.analysis.operator_calls import given_bytes, operator_calls
from capture.analysis.origin_totals import Costs
from capture.analysis.source_lines import source_lines
from capture.memory_map import Events, Memory, Names
from capture.model import Body, EvidenceKind, Graph, Topology
from capture.origin_index import OriginIndex
from capture.origins import Compiled, Frame, Module, Operator, Origins, TensorLike
from tests.helpers import origins

DEPTH = 3
ANALYSES = ("by_module", "by_operator", "by_source")


def subject_of(made: tuple[origins.Builder, Graph], timed: bool = True) -> Subject:
    build, graph = made
    timings = build.timings("0") if timed else None
    return Subject(graph, timings=timings, origins=build.origins)


@pytest.fixture(scope="module")
def step() -> Subject:
    return subject_of(origins.transformer(DEPTH))


@pytest.fixture(scope="module")
def fused() -> Subject:
    return subject_of(origins.compiled())


def index_of(subject: Subject) -> OriginIndex:
    assert subject.origin_index is not None
    return subject.origin_index


def written(result: Result) -> str:
    return "\n".join([result.text(result.summary), *map(result.text, result.notes)])


def test_a_module_holds_what_is_inside_it_and_the_backward_pass_of_that(step: Subject) -> None:
    rows = {row.path or row.name: row for row in module_tree(index_of(step), Costs.of(step))}
    block = rows["blocks.1"]
    parts = [row for path, row in rows.items() if path.startswith("blocks.1.")]
    assert {row.path for row in parts} == {
        f"blocks.1.{name}"
        for name in ("norm1", "attn", "attn.qkv", "attn.proj", "norm2", "mlp", "mlp.up", "mlp.down")
    }
    own = [block.own, *(row.own for row in parts)]
    assert block.total.nodes == sum(part.nodes for part in own)
    assert block.total.time_ns == sum(part.time_ns for part in own)
    assert block.own.nodes == 4, "two additions, forward and backward"
    forward, backward = block.total.phase_ns[1:3]
    products = 61_000 + 22_300 + 80_200 + 79_600  # with two gradients each
    assert backward == pytest.approx(1.1 * (forward + products))
    assert rows["blocks.1.attn.qkv"].name == "qkv"
    assert rows["blocks.1"].name == "blocks.1", "a list of modules has no forward of its own"


def test_no_node_is_lost_between_the_tree_and_the_nodes_without_a_module(step: Subject) -> None:
    rows = module_tree(index_of(step), Costs.of(step))
    outermost = [row for row in rows if row.parent < 0]
    assert [row.module >= 0 for row in outermost] == [True, False]
    assert sum(row.total.nodes for row in outermost) == len(step.graph)
    assert sum(row.total.time_ns for row in outermost) == sum(step.durations)  # type: ignore[arg-type]


def test_classes_count_their_modules(step: Subject) -> None:
    found = {row.class_name: row for row in module_classes(index_of(step), Costs.of(step))}
    assert found["Block"].modules == DEPTH
    assert found["LayerNorm"].modules == 2 * DEPTH + 1
    assert found["Linear"].modules == 4 * DEPTH + 1
    assert found["Transformer"].total.nodes == 2 + 24 * DEPTH + 2 + 3
    assert found["Linear"].own.nodes == found["Linear"].total.nodes == 12 * DEPTH + 3


def test_a_line_is_charged_with_its_backward_pass_apart(step: Subject) -> None:
    found = source_lines(index_of(step), Costs.of(step))
    rows = {(row.line.file, row.line.line): row for row in found.rows}
    mlp = rows[origins.FILE, origins.line_of(origins.SOURCE, "self.down(F.gelu")]
    assert mlp.launched.nodes == 3 * DEPTH
    assert mlp.launched.time_ns == DEPTH * (80_200 + 25_100 + 79_600)
    assert mlp.backward.nodes == 5 * DEPTH, "two gradients of each product, one of gelu"
    assert mlp.inclusive.nodes == 8 * DEPTH
    block = rows[origins.FILE, origins.line_of(origins.SOURCE, "x = x + self.mlp")]
    assert block.launched.nodes == 2 * DEPTH, "the norm and the addition; the rest is deeper"
    assert block.inclusive.nodes == mlp.inclusive.nodes + 4 * DEPTH
    call = rows[origins.MAIN, origins.line_of(origins.MAIN_SOURCE, "logits = model")]
    assert call.own_nodes == 0
    assert call.inclusive.nodes == 2 + 24 * DEPTH + 2 + 3
    update = rows[origins.MAIN, origins.line_of(origins.MAIN_SOURCE, "optimizer.step")]
    assert update.launched.phase_nodes[3] == update.launched.nodes > 0
    assert sum(row.own_nodes for row in found.rows) == len(step.graph)
    assert found.without.nodes == 0


def test_files_add_up_their_lines(step: Subject) -> None:
    found = source_lines(index_of(step), Costs.of(step))
    assert [file.file for file in found.files] == [origins.FILE, origins.MAIN]
    for file in found.files:
        assert file.own_nodes == sum(row.own_nodes for row in file.lines)
        assert [row.line.line for row in file.lines] == sorted(row.line.line for row in file.lines)


def test_an_operator_lists_what_it_was_called_with(step: Subject) -> None:
    found = {row.name: row for row in operator_calls(index_of(step), Costs.of(step))}
    addmm = found["aten.addmm.default"]
    assert addmm.total.nodes == 4 * DEPTH
    assert [item.total.nodes for item in addmm.inputs] == [DEPTH] * 4
    assert addmm.inputs[0].operator.inputs[2].shape == (768, 3072), "up takes the longest"
    assert len(addmm.modules) == 4 * DEPTH
    assert sum(row.total.nodes for row in found.values()) == len(step.graph)


@pytest.mark.parametrize(
    ("tensors", "size"),
    [
        ((), 0),
        ((TensorLike("float32", (3, 4)),), 48),
        ((TensorLike("torch.float8_e4m3fn", (16,)), TensorLike("int64", ())), 24),
        ((TensorLike("float32", (64, 4), (0, 1)),), 16),
        ((TensorLike("float32", (0, 4), (4, 1)),), 0),
        ((TensorLike("", ()), TensorLike("bool", (2,))), 2),
        ((TensorLike("quint4x2", (8,)),), None),
    ],
)
def test_bytes_of_what_a_call_was_given(tensors: tuple[TensorLike, ...], size: int | None) -> None:
    assert given_bytes(Operator("aten.x.default", tensors)) == size


def test_a_fused_kernel_is_charged_to_all_it_came_from_and_once_to_the_whole(
    fused: Subject,
) -> None:
    index, costs = index_of(fused), Costs.of(fused)
    tree = {row.path or row.name: row for row in module_tree(index, costs)}
    assert tree["norm"].total.nodes == tree["blocks.0"].total.nodes == 1
    assert tree["norm"].total.shared == tree["blocks.0"].total.shared == 1
    whole = tree["Transformer"].total
    assert (whole.nodes, whole.time_ns, whole.shared) == (2, 912_000, 0)
    lines = source_lines(index, costs)
    assert [row.launched.shared for row in lines.rows if row.own_nodes] == [1, 1]
    (file,) = lines.files[:1]
    assert file.launched.nodes == 2, "a kernel of two lines of one file counts once there"
    operators = {row.name: row for row in operator_calls(index, costs)}
    assert operators["aten.add.Tensor"].total.shared == 1
    assert operators["aten.mm.default"].total.shared == 0
    assert operators["aten.add.Tensor"].inputs == []


def test_the_line_that_launches_a_kernel_of_ones_own_is_around_it() -> None:
    kernel = Frame("kernels.py", 7, "scale_kernel")
    launch = [Frame("kernels.py", 31, "scale"), Frame("train.py", 9, "step")]
    known = Origins(
        graph="g",
        frames=[kernel, *launch],
        stacks=[(0,), (1, 2)],
        stack=[1],
        compiled_kernels=[Compiled("scale_kernel", stacks=(0,))],
        compiled=[0],
    )
    subject = Subject(Graph(topology=Topology(types=["kernel"]), payloads=[None]), origins=known)
    found = source_lines(index_of(subject), Costs.of(subject))
    counts = {row.line.line: (row.own_nodes, row.inclusive.nodes) for row in found.rows}
    assert counts == {7: (1, 1), 31: (0, 1), 9: (0, 1)}


def test_modules_that_only_a_compiler_names_hang_under_the_nearest_one() -> None:
    build, graph = origins.compiled()
    build.origins.compiled_kernels[0] = Compiled("k", (), ("blocks.0.mlp.up", "elsewhere"))
    subject = subject_of((build, graph))
    tree = {row.path or row.name: row for row in module_tree(index_of(subject), Costs.of(subject))}
    parents = module_tree(index_of(subject), Costs.of(subject))
    assert parents[tree["blocks.0.mlp.up"].parent].path == "blocks.0"
    assert tree["blocks.0.mlp.up"].name == "mlp.up"
    assert parents[tree["elsewhere"].parent].class_name == "Transformer"


@pytest.mark.parametrize("name", ANALYSES)
def test_without_timings_there_are_counts_and_a_reason(name: str) -> None:
    subject = subject_of(origins.transformer(1), timed=False)
    result = run_analysis(name, subject)
    assert result.present
    assert "Only counts, no times" in written(result)
    time = [column.name for column in result.columns].index("time")
    assert all(row[time] is None for row in result.rows)


@pytest.mark.parametrize("name", ANALYSES)
def test_without_origins_the_reason_says_how_to_record_them(name: str) -> None:
    _, graph = origins.transformer(1)
    result = run_analysis(name, Subject(graph))
    assert "cglens record" in result.absent_reason
    subject = Subject(graph, unreadable={EvidenceKind.ORIGINS: "the origins cannot be read: x"})
    assert run_analysis(name, subject).absent_reason == "the origins cannot be read: x"


@pytest.mark.parametrize(
    ("name", "missing"),
    [("by_module", "module"), ("by_operator", "operator"), ("by_source", "stack")],
)
def test_a_column_that_is_not_known_says_why(name: str, missing: str) -> None:
    _, graph = origins.transformer(1)
    known = Origins(graph="g", missing={missing: "this torch cannot be watched"})
    result = run_analysis(name, Subject(graph, origins=known))
    assert "this torch cannot be watched" in result.absent_reason


def test_summaries_name_what_takes_the_longest(step: Subject) -> None:
    assert "most by themselves: head" in written(run_analysis("by_module", step))
    assert "most: aten.mm.default" in written(run_analysis("by_operator", step))
    line = origins.line_of(origins.SOURCE, "self.down(F.gelu")
    assert f"model.py:{line} " in written(run_analysis("by_source", step))


def test_shares_are_of_all_nodes_and_of_the_path(step: Subject) -> None:
    result = run_analysis("by_module", step)
    names = [column.name for column in result.columns]
    share, path = names.index("share of node time"), names.index("share of the critical path")
    outermost = [row for row in result.rows if row[0] in ("Transformer", "no module")]
    assert sum(row[share] for row in outermost) == pytest.approx(1)  # type: ignore[misc]
    assert sum(row[path] for row in outermost) == pytest.approx(1)  # type: ignore[misc]


def test_what_is_inside_a_body_comes_from_the_node_that_holds_it() -> None:
    build, graph = origins.transformer(1)
    inner = origins.transformer(1)[1]
    graph.bodies = [Body(node=5, index=0, role="child", graph=inner)]
    whole = OriginIndex(build.origins, len(graph))
    inside = OriginIndex(build.origins, len(inner), "5/0")
    assert set(inside.column("module")) == {whole.column("module")[5]}
    assert set(inside.charges) == {whole.charges[5]}
    assert set(OriginIndex(build.origins, 3, "99/0").column("stack")) == {-1}


def test_numbers_that_point_nowhere_count_as_not_known() -> None:
    broken = Origins(
        graph="g",
        frames=[Frame("a.py", 1, "f")],
        stacks=[(0, 7), (9,)],
        operators=[Operator("aten.add.Tensor")],
        modules=[Module("a", "A", 1), Module("b", "B", 0), Module("c", "C", -9)],
        stack=[0, 1, 5],
        operator=[0, -3, 1],
        module=[0, 1, 99],
        phase=[77, -1, 1],
        forward=[-1, 12, -1],
        compiled=[-1, -1, 4],
    )
    index = OriginIndex(broken, 4)
    assert index.column("stack") == [0, 1, -1, -1]
    assert index.column("phase") == [-1, -1, 1, -1]
    assert [charge.lines for charge in index.charges] == [(0,), (), (), ()]
    assert index.ancestors == [(0,), (0, 1), (2,)]
    assert index.node_modules == [(0,), (1,), (), ()]


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        ([Frame("t.py", 1, "f", "library"), Frame("u.py", 2, "g"), Frame("u.py", 3, "h")], 2),
        ([Frame("gen.py", 4, "call", "generated"), Frame("u.py", 3, "h")], 3),
        ([Frame("t.py", 1, "f", "library"), Frame("gen.py", 4, "call", "generated")], 4),
        ([Frame("t.py", 1, "f", "library")], None),
        ([], None),
    ],
)
def test_the_line_of_a_stack_is_its_innermost_of_the_user(
    frames: list[Frame], line: int | None
) -> None:
    known = Origins(graph="g", frames=frames, stacks=[tuple(range(len(frames)))], stack=[0])
    index = OriginIndex(known, 1)
    lines = [index.lines[at].line for at in index.charges[0].lines]
    assert lines == ([] if line is None else [line])


def with_memory() -> Subject:
    """Return the step with what its capture allocated, and two models of one class."""
    build, graph = origins.transformer(DEPTH)
    names = {
        "Transformer: blocks.1.attn.qkv.weight": 700,
        "gradient of Transformer: blocks.1.attn.qkv.weight": 70,
        "AdamW: exp_avg of Transformer: blocks.1.attn.qkv.weight": 7,
        "OptimizedModule: _orig_mod.blocks.1.attn.proj.weight": 1_000,
        "Transformer: blocks.1.scale": 20_000,
        "Transformer: head.weight": 300_000,
        "batch of step()": 5_000_000,
        "Other: head.weight": 5_000_000,
    }
    memory = Memory(
        graph="k",
        events=Events(
            action=[0, 1, 0, 0],
            address=[1, 1, 1, 2],
            size_bytes=[40, 40, 40, 8],
            nodes_before=[3, 4, 4, len(graph)],
        ),
        names=Names(
            address=[*range(len(names)), 99],
            size_bytes=[*names.values(), 300_000],
            name=[*names, "Transformer: head.weight"],
        ),
    )
    return Subject(graph, origins=build.origins, memory=memory)


def test_a_module_holds_its_tensors_and_those_inside_it_once() -> None:
    subject = with_memory()
    index = index_of(subject)
    held = {
        index.modules[at].path: found for at, found in held_by_module(index, subject.memory).items()
    }
    qkv = held["blocks.1.attn.qkv"]
    assert (qkv.weights_bytes, qkv.gradients_bytes, qkv.state_bytes) == (700, 70, 7)
    assert held["blocks.1.attn"].total_bytes == 1_777
    assert held["blocks.1"].total_bytes == 21_777
    assert held[""].total_bytes == 321_777
    assert "blocks.0" not in held
    build, _ = origins.transformer(1)
    build.module("", "Transformer")
    two = OriginIndex(build.origins, len(build.types))
    assert held_by_module(two, subject.memory) == {}, "it cannot be told whose they are"
    assert held_by_module(index, None) == {}


def test_what_was_allocated_before_a_node_is_charged_to_its_origins() -> None:
    subject = with_memory()
    rows = run_analysis("by_operator", subject).rows
    norm, addmm = "aten.native_layer_norm.default", "aten.addmm.default"
    assert {row[0]: row[-1] for row in rows if row[-1]} == {norm: 40, addmm: 40}
    lines = run_analysis("by_source", subject).rows
    assert sum(int(row[-1] or 0) for row in lines) == 80
    tree = {row[0]: row[-2:] for row in run_analysis("by_module", subject).rows}
    assert tree["blocks.0.attn.qkv"] == (40, None)
    assert tree["blocks.0"] == (80, None)
    assert tree["head"] == (None, 300_000)
