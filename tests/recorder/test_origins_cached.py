"""Lines and modules of compiled graphs that come from the compiler's own cache."""

from __future__ import annotations

import importlib
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from capture.recorder.torch_origins_cached import Names, Owner, names_printed

torch: Any = importlib.import_module("torch")

PRINTED = dedent(
    """\
    class GraphModule(torch.nn.Module):
        def forward(self, primals_1: "f32[4, 4]", tangents_1: "f32[4, 4]"):
            # File: /me/net.py:7 in forward, code: h = relu(self.a(x))
            mm_1: "f32[4, 4]" = torch.ops.aten.mm.default(tangents_1, primals_1)
            var_mean = torch.ops.aten.var_mean.correction(mm_1, [1])

            #  Annotation: {'stage': 0} File: /me/net.py:8 in forward, code: return self.b(h)
            mul_9: "f32[4, 4]" = torch.ops.aten.mul.Tensor(mm_1, 2)

            # No stacktrace found for following nodes
            sum_1: "f32[4]" = torch.ops.aten.sum.dim_IntList(mul_9, [0])

            # File: /me/other.py:3 in loss, code: return y.sum()
            sum_2: "f32[]" = torch.ops.aten.sum.default(sum_1)
            return (mm_1, sum_2)
    """
)


def stack(*frames: tuple[str, int, str]) -> str:
    return "".join(
        f'  File "{file}", line {line}, in {name}\n    x\n' for file, line, name in frames
    )


def test_printed_operators_have_the_stacks_and_modules_of_the_traced_ones() -> None:
    outer = ("/me/train.py", 20, "step")
    traced = Names(
        {"linear": Owner(5, "a"), "linear_1": Owner(6, "b")},
        {
            "linear": stack(outer, ("/me/net.py", 7, "forward")),
            "relu": stack(outer, ("/me/net.py", 7, "forward")),
            "linear_1": stack(outer, ("/me/net.py", 8, "forward")),
            "linear_2": stack(("/me/train.py", 21, "step"), ("/me/net.py", 8, "forward")),
        },
    )
    found = names_printed(PRINTED, traced)
    whole = '  File "/me/train.py", line 20, in step\n  File "/me/net.py", line 7, in forward\n'
    assert found.traces == {
        "mm_1": whole,
        "var_mean": whole,
        # Two calls led to this line: what they share is known.
        "mul_9": '  File "/me/net.py", line 8, in forward\n',
        "sum_2": '  File "/me/other.py", line 3, in loss\n',
    }
    # The first line belongs to a module and to the one around it, so neither is said.
    assert found.owners == {}
    del traced.traces["relu"], traced.traces["linear_2"]
    assert names_printed(PRINTED, traced).owners == {
        "mm_1": Owner(5, "a"),
        "var_mean": Owner(5, "a"),
        "mul_9": Owner(6, "b"),
    }


LAYERS = dedent(
    """\
        def forward(self, primals_1: "f32[4, 4]", primals_3: "f32[4, 4]", mul, tangents_1):
            # File: /me/net.py:7 in forward, code: return self.a(x) + x
            permute: "f32[4, 4]" = torch.ops.aten.permute.default(primals_3, [1, 0])
            mm: "f32[4, 4]" = torch.ops.aten.mm.default(tangents_1, permute);  permute = None
            permute_1: "f32[4, 4]" = torch.ops.aten.permute.default(tangents_1, [1, 0])
            mm_1: "f32[4, 4]" = torch.ops.aten.mm.default(permute_1, mul);  permute_1 = mul = None
            sum_1: "f32[1, 4]" = torch.ops.aten.sum.dim_IntList(tangents_1, [0], True)
            view: "f32[4]" = torch.ops.aten.view.default(sum_1, [4]);  sum_1 = None
            add: "f32[4, 4]" = torch.ops.aten.add.Tensor(mm, tangents_1)
            return (None, None, mm_1, view, add)
    """
)


def test_the_parameter_tells_equal_layers_apart() -> None:
    first, second, around = Owner(5, "0.a"), Owner(6, "1.a"), Owner(7, "1")
    trace = stack(("/me/net.py", 7, "forward"))
    owners = {"linear": first, "linear_1": second, "add_1": around}
    inputs = ("0.a", "0.a", "1.a", "1.a", None)
    traced = Names(owners, dict.fromkeys(owners, trace), inputs)
    found = names_printed(LAYERS, traced).owners
    # What takes the second layer's weight, and what becomes the gradients of its parameters.
    assert found == dict.fromkeys(("permute", "permute_1", "mm_1", "sum_1", "view"), second)
    # A parameter of a module that has no operator on this line decides nothing.
    tied = traced._replace(inputs=("0.a", "0.a", "embedding", "embedding", None))
    assert names_printed(LAYERS, tied).owners == {}
    # Other inputs than there were traced: which is which is not known.
    assert "mm_1" not in names_printed(LAYERS, traced._replace(inputs=inputs[:4])).owners


def test_text_of_another_kind_says_nothing() -> None:
    assert names_printed("", Names({}, {})) == Names({}, {})
    assert names_printed("not a graph = 3\n# File: broken", Names({}, {})) == Names({}, {})


def network(x: Any, a: Any, b: Any) -> Any:
    hidden = x @ a
    return hidden @ b


# torch warns of what torch itself still uses.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_backward_from_the_cache_has_the_lines_of_its_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from capture.recorder.torch_origins_compiled import COMPILATIONS
    from capture.recorder.torch_origins_inductor import CODECACHE, provenance

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    inputs = [torch.randn(4, 4, requires_grad=True) for _ in range(3)]
    COMPILATIONS.watch()
    found = []
    try:
        for _ in range(2):
            torch._dynamo.reset()
            COMPILATIONS.names.clear()
            torch.compile(network)(*inputs).sum().backward()
            cache = __import__(CODECACHE, fromlist=["PyCodeCache"]).PyCodeCache
            _, backward = COMPILATIONS.names
            # Inside of partitions, as with CUDA graphs, the compiler's own map has no lines.
            monkeypatch.delitem(cache.linemaps, backward)
            said = [
                provenance(backward, number, "extern_kernels.mm")
                for number, line in enumerate(Path(backward).read_text().splitlines(), 1)
                if "extern_kernels.mm(" in line
            ]
            found.append([item.stacks for item in said if item is not None])
    finally:
        COMPILATIONS.stop()
        COMPILATIONS.names.clear()
    hits = torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_hit"]
    assert hits >= 1
    first = network.__code__.co_firstlineno
    second_line = ((str(Path(__file__)), first + 2, "network"),)
    first_line = ((str(Path(__file__)), first + 1, "network"),)
    assert found[0] == [(second_line,), (second_line,), (first_line,), (first_line,)]
    assert found[1] == found[0]
