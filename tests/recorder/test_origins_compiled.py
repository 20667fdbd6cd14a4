"""What torch's compiler says of its kernels, read from what it leaves: comments, maps, graphs."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from capture.recorder.import_watch import after_import
from capture.recorder.torch_origins_cached import Names, Owner
from capture.recorder.torch_origins_compiled import COMPILATIONS, Compilations, names_of
from capture.recorder.torch_origins_inductor import CODECACHE, provenance
from capture.recorder.torch_origins_inductor import names_of as names_in_comment

GENERATED = dedent(
    """\
    # Topologically Sorted Source Nodes: [gelu], Original ATen: [aten.gelu]
    # Source node to ATen node mapping:
    #   gelu => erf
    triton_poi_fused_gelu_0 = async_compile.triton('triton_poi_fused_gelu_0', '''
    ''')

    def call(args):
        buf0 = empty_strided_cuda((4, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [mm, relu_1], Original ATen: [aten.mm, aten.relu]
        extern_kernels.addmm(primals_2, primals_3, out=buf0)
        del primals_2
        stream0 = get_raw_stream(0)
        triton_poi_fused_gelu_0.run(buf0, 32, stream=stream0)
    """
)


@pytest.fixture
def generated(tmp_path: Path) -> str:
    path = tmp_path / "cab.py"
    path.write_text(GENERATED, encoding="utf-8")
    return str(path)


def line_of(text: str) -> int:
    return next(at for at, line in enumerate(GENERATED.splitlines(), 1) if text in line)


def test_the_comment_above_a_launch_names_its_operators(generated: str) -> None:
    found = names_in_comment(generated, line_of("extern_kernels"), "aten.addmm.out")
    assert found == (("mm", "relu_1"), ("aten.mm", "aten.relu"))


def test_the_comment_of_another_launch_is_not_taken(generated: str) -> None:
    found = names_in_comment(generated, line_of(".run("), "triton_poi_fused_gelu_0")
    assert found == (("gelu",), ("aten.gelu",))


def test_a_file_that_is_gone_says_nothing() -> None:
    assert names_in_comment("/nowhere/cab.py", 3, "kernel") == ((), ())
    assert provenance("/nowhere/cab.py", 3, "kernel") is None


def test_a_fused_kernel_has_every_stack_and_module(
    generated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = line_of("extern_kernels")
    texts = [
        '  File "/me/net.py", line 20, in outer\n    x = self.inner(x)\n'
        '  File "/me/net.py", line 7, in forward\n    return relu(x)\n',
        '  File "/me/net.py", line 8, in forward\n    return linear(x)\n',
    ]
    cache = SimpleNamespace(linemaps={generated: [(2, launch, launch), ("", *texts)]})
    module: Any = ModuleType(CODECACHE)
    module.PyCodeCache = cache
    monkeypatch.setitem(sys.modules, CODECACHE, module)
    owners = {"mm": Owner(0, "blocks.0.l"), "relu_1": Owner(0, "blocks.0")}
    monkeypatch.setitem(COMPILATIONS.names, generated, Names(owners, {}))
    found = provenance(generated, launch, "aten.addmm.out")
    assert found is not None
    assert found.operators == ("aten.mm", "aten.relu")
    assert found.modules == ("blocks.0.l", "blocks.0")
    assert found.stacks == (
        (("/me/net.py", 7, "forward"), ("/me/net.py", 20, "outer")),
        (("/me/net.py", 8, "forward"),),
    )


def test_modules_of_a_traced_graph() -> None:
    class Linear:
        pass

    nodes = [
        SimpleNamespace(
            op="call_function",
            name="x_1",
            meta={
                "nn_module_stack": {
                    "17": ("L['self'].blocks[0]", Linear),
                    "23@1": ("L['self'].blocks[0].l", Linear),
                },
                "source_fn_stack": [("linear_1", Linear)],
            },
        ),
        SimpleNamespace(op="call_function", name="y", meta={}),
        SimpleNamespace(
            op="placeholder", name="w", meta={"nn_module_stack": {"17": ("L['self']", Linear)}}
        ),
    ]
    source = SimpleNamespace(name=lambda: "L['self'].blocks[0]._modules['l']._parameters['weight']")
    nodes[-1].meta["grapharg"] = SimpleNamespace(source=source)
    graph = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    owner = Owner(23, "blocks.0.l")
    assert names_of(graph).inputs == ("blocks.0.l",)
    assert names_of(graph).owners == {"linear_1": owner, "x_1": owner}


def test_kernels_of_a_partition_have_the_stacks_of_the_traced_graph(
    generated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The compiler's map from lines to stacks knows no partitions.
    frame = '  File "/me/net.py", line {}, in forward\n    return x\n'
    nodes = [
        SimpleNamespace(
            op="call_function",
            name="x",
            meta={"stack_trace": frame.format(7), "source_fn_stack": [("mm", "mm")]},
        ),
        SimpleNamespace(op="call_function", name="relu_1", meta={"stack_trace": frame.format(8)}),
        SimpleNamespace(op="placeholder", name="w", meta={"stack_trace": frame.format(9)}),
    ]
    names = names_of(SimpleNamespace(graph=SimpleNamespace(nodes=nodes)))
    assert set(names.traces) == {"mm", "x", "relu_1"}
    monkeypatch.setitem(COMPILATIONS.names, generated, names)
    found = provenance(generated, line_of("extern_kernels"), "aten.addmm.out")
    assert found is not None
    assert found.stacks == ((("/me/net.py", 7, "forward"),), (("/me/net.py", 8, "forward"),))


def test_the_compiler_is_listened_to_and_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OutputGraph:
        def call_user_compiler(self, module: Any, inputs: Any) -> Any:
            return PyCodeCache.load_by_key_path("key", "/gen/cab.py", linemap=inputs)

    class GraphLowering:
        def __init__(self, module: Any) -> None:
            self.module = module

    class PyCodeCache:
        @classmethod
        def load_by_key_path(cls, key: str, path: str, linemap: Any = None) -> Any:
            return cls, key, path, linemap

    class CompileContext:
        number: str | None = "0/0"

        @classmethod
        def current_compile_id(cls) -> str | None:
            return cls.number

    for name, kind in (
        ("torch._dynamo.output_graph", OutputGraph),
        ("torch._inductor.graph", GraphLowering),
        ("torch._inductor.codecache", PyCodeCache),
        ("torch._guards", CompileContext),
    ):
        module = ModuleType(name)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)
    patched = (
        (OutputGraph, "call_user_compiler"),
        (GraphLowering, "__init__"),
        (PyCodeCache, "load_by_key_path"),
    )
    before = [vars(kind)[name] for kind, name in patched]
    found = Compilations()
    found.watch()
    node = SimpleNamespace(
        op="call_function",
        name="x",
        meta={"nn_module_stack": {"7": ("L['self'].a", object)}, "stack_trace": "forward"},
    )
    graph = SimpleNamespace(graph=SimpleNamespace(nodes=[node]))
    result = OutputGraph().call_user_compiler(graph, "inputs")
    assert result == (PyCodeCache, "key", "/gen/cab.py", "inputs")
    owner = Owner(7, "a")
    assert found.names == {"/gen/cab.py": Names({"x": owner}, {"x": "forward"})}
    # Its backward is lowered later, under the same number; an operator of it names its forward's.
    derived = SimpleNamespace(
        op="call_function", name="mm_1", meta={"fwd_source_fn_stack": [("x", object)]}
    )
    assert GraphLowering(SimpleNamespace(graph=SimpleNamespace(nodes=[derived]))).module is not None
    PyCodeCache.load_by_key_path("key", "/gen/backward.py")
    backward = found.names["/gen/backward.py"]
    assert (backward.owners["mm_1"], backward.traces["mm_1"]) == (owner, "forward")
    # What cannot be read does not keep it from compiling.
    assert OutputGraph().call_user_compiler(object(), "inputs")[1] == "key"
    # Loaded outside of a compilation: nothing is known.
    CompileContext.number = None
    PyCodeCache.load_by_key_path("key", "/gen/other.py")
    assert "/gen/other.py" not in found.names
    found.stop()
    assert [vars(kind)[name] for kind, name in patched] == before


def test_acting_after_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cglens_late.py").write_text("value = 3\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[int] = []

    def act() -> None:
        seen.append(sys.modules["cglens_late"].value)
        raise RuntimeError("our own trouble")

    finders = len(sys.meta_path)
    after_import("cglens_late", act)
    import cglens_late  # type: ignore[import-not-found]

    assert seen == [3]
    assert type(cglens_late.__loader__).__name__ == "SourceFileLoader"
    assert cglens_late.__spec__.loader is cglens_late.__loader__
    assert len(sys.meta_path) == finders
    after_import("cglens_late", act)
    assert seen == [3, 3]
    del sys.modules["cglens_late"]
