"""Where nodes come from, without torch: owners, stacks, labels, modules, tables."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from capture.origins import PHASES, Origins
from capture.recorder.frame_locals import variable
from capture.recorder.origins import labels
from capture.recorder.origins.columns import common
from capture.recorder.origins.context import Context, Provenance
from capture.recorder.origins.fill import fill
from capture.recorder.origins.log import FIRST_LAUNCH, WIDTH, Launch, Log, Row
from capture.recorder.origins.modules import Modules
from capture.recorder.origins.stacks import Base, Stacks, kind_of
from capture.recorder.origins.tables import build

FIRST, SECOND = 0x10, 0x20
"""Streams."""


def row(before: Any, after: Any, what: int = 0, opened: int = 0, **changes: Any) -> Row:
    values: dict[str, Any] = {
        "stream": FIRST,
        "thread": 1,
        "stack": -1,
        "module": -1,
        "label": "",
        "node": "",
        "node_number": -1,
        "number": 0,
        "opened": opened * WIDTH,
    } | changes
    return Row(what=what, before=before, after=after, **values)


def in_order(*rows: Row) -> list[Row]:
    """Return rows that each began when those before it had ended, unless they say otherwise."""
    return [
        item if item.opened else item._replace(opened=number * WIDTH)
        for number, item in enumerate(rows)
    ]


HANDLES = [101, 102, 103, 104, 105, 106]


def test_nodes_between_two_last_nodes_are_the_operators() -> None:
    owners = fill(HANDLES, in_order(row(0, 101), row(101, 104), row(104, 104), row(104, 106)))
    assert owners.rows == [0, 1, 1, 1, 3, 3]
    assert owners.between == {}


def test_nodes_that_no_operator_made_are_between_two() -> None:
    owners = fill(HANDLES, in_order(row(101, 102), row(104, 105)))
    assert owners.rows == [-1, 0, -1, -1, 1, -1]
    assert owners.between == {0: (-1, 0), 2: (0, 1), 3: (0, 1), 5: (1, -1)}


def test_streams_take_turns() -> None:
    # The last node of the second stream is old by the time that it goes on.
    owners = fill(
        HANDLES,
        in_order(
            row(0, 101),
            row(101, 102, stream=SECOND),
            row(101, 104),
            row(102, 105, stream=SECOND),
            row((104, 105), 106),
        ),
    )
    assert owners.rows == [0, 1, 2, 2, 3, 4]
    assert owners.between == {}


def test_a_launch_inside_an_operator_has_its_node_and_the_operator_the_others() -> None:
    inner = row(102, 103, what=FIRST_LAUNCH, opened=1)
    outer = row(101, 104, opened=1)
    owners = fill(HANDLES[:4], [row(0, 101), inner, outer])
    assert owners.rows == [0, 2, 1, 2]
    assert owners.between == {}


def test_handles_that_are_not_in_the_level_are_passed_over() -> None:
    # Nodes of a conditional's body, or of a capture that broke.
    owners = fill(HANDLES[:2], in_order(row(0, 999), row(999, 998), row(0, 102)))
    assert owners.rows == [2, 2]


def test_many_alternating_streams_are_linear() -> None:
    count = 20_000
    handles = list(range(1, count + 1))
    rows = [
        row(max(0, handle - 2), handle, stream=handle % 2, opened=handle - 1) for handle in handles
    ]
    assert fill(handles, rows).rows == list(range(count))


def inner_stack(stacks: Stacks, base: Base) -> tuple[int, bool]:
    index, _, based = stacks.walk(sys._getframe(0), base)
    return index, based


def base_of(stacks: Stacks) -> Base:
    frame = sys._getframe(1)
    return Base(frame.f_code, id(frame), stacks.walk(frame.f_back)[0])


def test_a_stack_is_kept_once_and_readable() -> None:
    stacks = Stacks()
    found = []
    for _ in range(3):
        found.append(inner_stack(stacks, Base())[0])
    assert len(set(found)) == 1
    places = stacks.places(found[0])
    assert places[0] == (__file__, inner_stack.__code__.co_firstlineno + 1, "inner_stack")
    assert places[1][2] == "test_a_stack_is_kept_once_and_readable"
    assert stacks.places(found[0]) is places


def test_a_stack_ends_at_a_base_that_still_runs() -> None:
    stacks = Stacks()
    base = base_of(stacks)
    whole, _ = inner_stack(stacks, Base())
    known = len(stacks)
    short, based = inner_stack(stacks, base)
    assert based
    assert len(stacks) == known + 1
    names = [place[2] for place in stacks.places(whole)]
    assert [place[2] for place in stacks.places(short)] == names


def test_a_base_that_has_returned_is_not_met() -> None:
    stacks = Stacks()

    def begin() -> Base:
        return base_of(stacks)

    base = begin()
    index, based = inner_stack(stacks, base)
    assert not based
    assert len(stacks.places(index)) > 3


def test_no_frame_and_no_variable_is_kept() -> None:
    import gc
    import weakref

    class Precious:
        pass

    stacks = Stacks()

    def work() -> weakref.ref[Precious]:
        precious = Precious()
        inner_stack(stacks, Base())
        return weakref.ref(precious)

    gc.disable()
    try:
        assert work()() is None
    finally:
        gc.enable()


def test_exec_and_lambdas_have_stacks() -> None:
    stacks = Stacks()
    space = {"walk": lambda: inner_stack(stacks, Base())[0]}
    exec("result = (lambda: walk())()", space)
    places = stacks.places(space["result"])  # type: ignore[arg-type]
    assert ("<string>", 1, "<module>") in places
    assert kind_of("<string>") == "user"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("/home/me/train.py", "user"),
        ("/tmp/ipykernel_7/1234.py", "user"),
        ("/x/lib/python3.12/site-packages/transformers/models/llama.py", "library"),
        ("<frozen runpy>", "library"),
        ("/tmp/torchinductor_me/ab/cabcd.py", "generated"),
        ("<eval_with_key>.3", "generated"),
    ],
)
def test_kinds_of_files(file: str, kind: str) -> None:
    assert kind_of(file) == kind


def test_our_own_frames_are_known() -> None:
    assert kind_of(labels.__file__) == "ours"


def test_labels_nest_and_survive_disorder() -> None:
    first, second = labels.label("a"), labels.label("b")
    first.__enter__()
    second.__enter__()
    assert labels.stack() == ["a", "b"]
    first.__exit__()
    assert labels.stack() == ["b"]
    second.__exit__()
    second.__exit__()
    assert labels.stack() == []


class FakeModule:
    """A stand-in for ``nn.Module``: named_modules, and a call that runs forward."""

    def __init__(self, **children: FakeModule) -> None:
        self.children = children

    def named_modules(self, remove_duplicate: bool = True) -> Any:
        yield "", self
        for name, child in self.children.items():
            for inner, module in child.named_modules():
                yield ".".join(filter(None, (name, inner))), module

    def call(self, then: Any) -> Any:
        return then(sys._getframe(0))

    def forward(self) -> None: ...


class Leaf(FakeModule):
    pass


def modules() -> Modules:
    return Modules(variable, lambda value: isinstance(value, FakeModule))


def test_modules_have_the_paths_of_the_outermost() -> None:
    leaf = Leaf()
    model = FakeModule(block=FakeModule(first=leaf), last=Leaf())
    found = modules()
    index = model.call(lambda _: leaf.call(found.of))
    assert found.known[index].path == "block.first"
    assert found.known[index].class_name == "Leaf"
    assert found.known[found.known[index].parent].path == "block"
    assert model.call(lambda _: leaf.call(found.of)) == index


def test_a_module_that_is_used_twice_has_its_first_name() -> None:
    shared = Leaf()
    model = FakeModule(encoder=shared, decoder=shared)
    found = modules()
    index = model.call(lambda _: shared.call(found.of))
    assert found.known[index].path == "encoder"
    assert found.known[index].others == ("decoder",)


def test_a_module_that_no_other_registers_hangs_under_the_one_that_calls_it() -> None:
    hidden = Leaf()
    model = FakeModule(block=FakeModule())
    found = modules()
    index = model.call(lambda _: hidden.call(found.of))
    assert found.known[index].parent == 0
    alone = modules()
    assert alone.known == []
    assert alone.known[hidden.call(alone.of)].path == ""


def test_the_wrapper_of_a_compiled_module_takes_no_name() -> None:
    leaf = Leaf()
    model = FakeModule(block=leaf)
    wrapper = FakeModule(_orig_mod=model)
    wrapper._orig_mod = model  # type: ignore[attr-defined]
    found = modules()
    index = wrapper.call(lambda _: leaf.call(found.of))
    assert found.known[index].path == "block"


def test_modules_are_not_kept_alive() -> None:
    import weakref

    found = modules()
    leaf = Leaf()
    leaf.call(found.of)
    gone = weakref.ref(leaf)
    del leaf
    assert gone() is None


def test_a_frame_without_a_module_has_none() -> None:
    found = modules()
    self = object()
    assert found.of(sys._getframe(0)) == -1
    del self


def forward_of(number: int, name: str) -> Any:
    return None


def context(stacks: Stacks, **changes: Any) -> Context:
    values: dict[str, Any] = {
        "stacks": stacks,
        "modules": [],
        "module_of": lambda identity: -1,
        "forward_of": forward_of,
        "provenance_of": lambda file, line, kernel: None,
        "threads": {1: "MainThread", 2: "autograd"},
    }
    return Context(**(values | changes))


def operator(name: str, *arguments: str) -> Any:
    class Named:
        _schema = SimpleNamespace(
            arguments=[SimpleNamespace(name=argument) for argument in arguments]
        )

        def __str__(self) -> str:
            return name

    return Named()


def logged(*rows: Row) -> Log:
    log = Log()
    for item in in_order(*rows):
        log.flat += item
    return log


TENSOR = ("torch.float32", (2, 3), (3, 1))


def test_operators_are_described() -> None:
    log = logged(row(0, 101))
    add = operator("aten.add.Tensor", "self", "other", "alpha")
    many = "tensors", 7, (TENSOR,)
    log.calls.append((add, ((TENSOR, (int, 2)), (("alpha", (float, 0.5)), ("out", many)))))
    origins = build("g", log, HANDLES[:1], context(Stacks()))
    (found,) = origins.operators
    assert found.name == "aten.add.Tensor"
    assert [(item.dtype, item.shape, item.stride) for item in found.inputs] == [
        ("float32", (2, 3), (3, 1))
    ] * 2
    assert found.scalars == ("other=2", "alpha=0.5", "out: 7 tensors")
    assert origins.operator == [0]
    assert origins.module == []


def test_backward_has_the_forward_of_its_autograd_node() -> None:
    stacks = Stacks()
    place, _ = inner_stack(stacks, Base())
    known = [SimpleNamespace(path="a", class_name="A", parent=-1, file="", line=0)]
    forward = SimpleNamespace(name="aten.mm.default", stack=place, module=0)
    log = logged(row(0, 101, thread=2, node="MmBackward0", node_number=7))
    log.calls.append((operator("aten.mm.default"), ((), ())))
    origins = build(
        "g",
        log,
        HANDLES[:1],
        context(
            stacks, modules=known, forward_of=lambda number, name: forward if number == 7 else None
        ),
    )
    assert PHASES[origins.phase[0]] == "backward"
    assert origins.names[origins.autograd[0]] == "MmBackward0"
    assert origins.names[origins.thread[0]] == "autograd"
    assert origins.modules[origins.module[0]].path == "a"
    frame = origins.frames[origins.stacks[origins.forward[0]][0]]
    assert (frame.file, frame.function) == (__file__, "inner_stack")
    assert origins.stack == []


def test_what_is_launched_between_operators_has_what_their_stacks_share() -> None:
    stacks = Stacks()

    def first() -> int:
        return inner_stack(stacks, Base())[0]

    def second() -> int:
        return inner_stack(stacks, Base())[0]

    log = logged(row(0, 101, stack=first()), row(102, 103, stack=second()))
    log.calls.append((operator("aten.mm.default"), ((), ())))
    origins = build("g", log, HANDLES[:3], context(stacks))
    assert origins.operator == [0, -1, 0]
    functions = [origins.frames[at].function for at in origins.stacks[origins.stack[1]]]
    assert functions[0].endswith("share")
    assert "1 nodes" in origins.missing["operator"]


def test_a_kernel_of_triton_names_its_function() -> None:
    log = logged(row(0, 101, what=FIRST_LAUNCH))
    log.launches.append(Launch("softmax", "triton", "/me/kernels.py", 12, "softmax"))
    origins = build("g", log, HANDLES[:1], context(Stacks()))
    (kernel,) = origins.compiled_kernels
    assert kernel.kernel == "softmax"
    frame = origins.frames[origins.stacks[kernel.stacks[0]][0]]
    assert (frame.file, frame.line, frame.kind) == ("/me/kernels.py", 12, "user")
    assert origins.compiled == [0]


def test_a_compiled_kernel_names_what_the_compiler_says() -> None:
    stacks = Stacks()
    space = {"walk": lambda: inner_stack(stacks, Base())[0]}
    file = "/tmp/torchinductor_me/ab/cab.py"
    exec(compile("\n\nresult = walk()", file, "exec"), space)
    log = logged(row(0, 101, what=FIRST_LAUNCH, stack=space["result"]))
    log.launches.append(Launch("triton_poi_fused_relu_0", "inductor"))
    says = Provenance(("aten.relu",), ("", "act"), (0, 0), ((("/me/net.py", 5, "forward"),),))
    asked: list[Any] = []

    def provenance_of(*question: Any) -> Provenance:
        asked.append(question)
        return says

    origins = build("g", log, HANDLES[:1], context(stacks, provenance_of=provenance_of))
    assert asked == [(file, 3, "triton_poi_fused_relu_0")]
    (kernel,) = origins.compiled_kernels
    assert kernel.operators == ("aten.relu",)
    assert kernel.modules == ("", "act")
    frame = origins.frames[origins.stacks[kernel.stacks[0]][0]]
    assert (frame.file, frame.line) == ("/me/net.py", 5)


def test_an_empty_capture_has_no_rows() -> None:
    assert build("g", Log(), [], context(Stacks())) == Origins(graph="g")


def test_nodes_of_a_capture_without_operators_are_not_blamed_on_anything() -> None:
    origins = build("g", Log(), HANDLES, context(Stacks()))
    assert origins.stack == []
    assert "6 nodes" in origins.missing["operator"]


def test_common_callers() -> None:
    main = ("a.py", 9, "main")
    assert common([main], []) == []
    assert common([("b.py", 1, "g"), main], [("c.py", 1, "h"), main]) == [main]
