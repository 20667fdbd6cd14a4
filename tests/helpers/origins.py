"""Synthetic origins: a training step of a small transformer, made up here and never recorded.

The source, the stacks, the operators and the times are invented; line numbers are those of
:data:`SOURCE`, so that a page that shows it can be read.
"""

from __future__ import annotations

from capture.model import Evidence, EvidenceKind, Executable, Graph, Recording, Topology
from capture.nodes.memset import MemsetPayload
from capture.origins import PHASES, Compiled, Frame, Module, Operator, Origins, TensorLike
from capture.timings import Timings

from . import synthetic

FILE = "/home/someone/project/model.py"
MAIN = "/home/someone/project/train.py"
TORCH = "/opt/venv/lib/python3.12/site-packages/torch"
GENERATED = "/tmp/torchinductor_someone/ab/cabc.py"
SOURCE = '''\
"""A synthetic transformer, for tests of the source page."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=-1)
        q, k, v = (self.split_heads(part) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, tokens, width)
        return self.proj(y)

    def split_heads(self, part):
        batch, tokens, width = part.shape
        return part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class Transformer(nn.Module):
    def __init__(self, words=50304, width=768, heads=12, depth=12):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
'''
MAIN_SOURCE = """\
import torch
from model import Transformer
from torch.nn import functional as F

model = Transformer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=False, foreach=True)


def step(tokens, targets):
    optimizer.zero_grad(set_to_none=False)
    logits = model(tokens)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    return loss
"""
WIDTH, TOKENS, WORDS = 768, 8192, 50304


def line_of(text: str, code: str) -> int:
    """Return the number of the first line that holds `code`."""
    return next(at for at, line in enumerate(text.splitlines(), 1) if code in line)


class Builder:
    """A chain of nodes, each with an origin and a duration."""

    def __init__(self, key: str) -> None:
        self.origins = Origins(graph=key, how=["synthetic: made up for tests"])
        self.types: list[str] = []
        self.payloads: list[object] = []
        self.durations: list[int] = []
        self._kernels = synthetic.kernels()
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._operators: dict[Operator, int] = {}
        self._names: dict[str, int] = {}

    def stack(self, *frames: Frame) -> int:
        """Return the index of a stack, innermost frame first."""
        places = []
        for frame in frames:
            if frame not in self._frames:
                self._frames[frame] = len(self._frames)
                self.origins.frames.append(frame)
            places.append(self._frames[frame])
        key = tuple(places)
        if key not in self._stacks:
            self._stacks[key] = len(self._stacks)
            self.origins.stacks.append(key)
        return self._stacks[key]

    def module(self, path: str, class_name: str, parent: int = -1) -> int:
        """Add a module and return its index."""
        self.origins.modules.append(Module(path, class_name, parent))
        return len(self.origins.modules) - 1

    def name(self, text: str) -> int:
        """Return the index of a name."""
        if not text:
            return -1
        if text not in self._names:
            self._names[text] = len(self._names)
            self.origins.names.append(text)
        return self._names[text]

    def node(
        self,
        operator: str,
        *shapes: tuple[int, ...],
        kernel: int = 0,
        duration: int = 3_000,
        module: int = -1,
        stack: int = -1,
        phase: str = "forward",
        autograd: str = "",
        forward: int = -1,
        compiled: int = -1,
        dtype: str = "bfloat16",
        memset: bool = False,
    ) -> int:
        """Add a node and return its position."""
        made = Operator(operator, tuple(TensorLike(dtype, shape) for shape in shapes))
        if operator and made not in self._operators:
            self._operators[made] = len(self._operators)
            self.origins.operators.append(made)
        at = len(self.types)
        self.types.append("memset" if memset else "kernel")
        if memset:
            self.payloads.append(
                MemsetPayload(address=0x7F00_0000, value=0, element_bytes=4, width=4096)
            )
        else:
            self.payloads.append(synthetic.kernel_payload(self._kernels[kernel], at))
        self.durations.append(duration)
        origins = self.origins
        origins.stack.append(stack)
        origins.operator.append(self._operators[made] if operator else -1)
        origins.module.append(module)
        origins.phase.append(PHASES.index(phase))
        origins.autograd.append(self.name(autograd))
        origins.forward.append(forward)
        origins.stream.append(self.name("capture stream"))
        origins.thread.append(self.name("autograd" if autograd else "MainThread"))
        origins.label.append(-1)
        origins.compiled.append(compiled)
        return at

    def graph(self, name: str) -> Graph:
        """Return the chain."""
        count = len(self.types)
        return Graph(
            topology=Topology(
                types=self.types, source=list(range(count - 1)), target=list(range(1, count))
            ),
            payloads=self.payloads,
            name=name,
        )

    def timings(self, executable: str) -> Timings:
        """Return made-up timings: each node starts 200 ns after the one before it."""
        starts, clock = [], 0
        for duration in self.durations:
            starts.append(clock)
            clock += duration + 200
        count = len(self.durations)
        return Timings(
            executable=executable,
            graph=self.origins.graph,
            node=[str(at) for at in range(count)],
            count=[5] * count,
            minimum_ns=self.durations,
            median_ns=self.durations,
            p95_ns=self.durations,
            start_ns=starts,
            gap_ns=[200] * count,
            stream=[7] * count,
            makespan_ns=[clock - 200] * 5,
            busy_ns=[sum(self.durations)] * 5,
            sample_start_ns=starts,
            sample_duration_ns=self.durations,
            untraced_replay_ns=[clock * 100 // 110] * 3,
            traced_replay_ns=[clock] * 3,
        )


def user(code: str, function: str, text: str = SOURCE, file: str = FILE) -> Frame:
    """Return the frame of a line of the synthetic source."""
    return Frame(file, line_of(text, code), function)


def library(file: str, line: int, function: str) -> Frame:
    """Return a frame inside torch."""
    return Frame(f"{TORCH}/{file}", line, function, "library")


CALL = library("nn/modules/module.py", 1787, "_call_impl")
MODEL_CALL = user("logits = model", "step", MAIN_SOURCE, MAIN)
LINEAR = library("nn/modules/linear.py", 134, "forward")


def transformer(
    depth: int = 12, key: str = "train.py:step#0", sources: bool = True
) -> tuple[Builder, Graph]:
    """Return a synthetic training step: zeroing, forward, backward, optimizer."""
    build = Builder(key)
    if sources:
        build.origins.sources |= {FILE: SOURCE, MAIN: MAIN_SOURCE}
    outer = (CALL, MODEL_CALL)
    block_call = (user("x = block(x)", "forward"), CALL, MODEL_CALL)
    root = build.module("", "Transformer")
    embed = build.module("embed", "Embedding", root)
    zero = build.stack(
        library("optim/optimizer.py", 1021, "zero_grad"),
        user("optimizer.zero_grad", "step", MAIN_SOURCE, MAIN),
    )
    for _ in range(2):
        build.node(
            "aten._foreach_zero_.default", (768, 768), stack=zero, phase="", memset=True,
            duration=1_400, dtype="float32",
        )  # fmt: skip
    hidden = (TOKENS, WIDTH)
    calls: list[tuple[str, tuple[tuple[int, ...], ...], int, int, str, int]] = []

    def forward(
        operator: str,
        shapes: tuple[tuple[int, ...], ...],
        module: int,
        stack: int,
        duration: int,
        kernel: int,
        autograd: str,
    ) -> None:
        build.node(operator, *shapes, module=module, stack=stack, duration=duration, kernel=kernel)
        calls.append((operator, shapes, module, stack, autograd, duration))

    stack = build.stack(
        library("nn/functional.py", 2546, "embedding"),
        CALL,
        user("x = self.embed", "forward"),
        *outer,
    )
    forward(
        "aten.embedding.default", ((WORDS, WIDTH), (8, 1024)), embed, stack, 21_000, 5,
        "EmbeddingBackward0",
    )  # fmt: skip
    for layer in range(depth):
        path = f"blocks.{layer}"
        block = build.module(path, "Block", root)
        norm1 = build.module(f"{path}.norm1", "LayerNorm", block)
        attn = build.module(f"{path}.attn", "Attention", block)
        qkv = build.module(f"{path}.attn.qkv", "Linear", attn)
        proj = build.module(f"{path}.attn.proj", "Linear", attn)
        norm2 = build.module(f"{path}.norm2", "LayerNorm", block)
        mlp = build.module(f"{path}.mlp", "Mlp", block)
        up = build.module(f"{path}.mlp.up", "Linear", mlp)
        down = build.module(f"{path}.mlp.down", "Linear", mlp)
        first = user("self.attn(self.norm1", "forward")
        second = user("self.mlp(self.norm2", "forward")
        norm = library("nn/modules/normalization.py", 229, "forward")
        linear = "AddmmBackward0"

        def deep(
            *inner: Frame, outer: tuple[Frame, ...] = (CALL, *block_call), build: Builder = build
        ) -> int:
            return build.stack(*inner, *outer)

        forward(
            "aten.native_layer_norm.default", (hidden, (WIDTH,), (WIDTH,)), norm1,
            deep(norm, CALL, first), 9_800, 4, "NativeLayerNormBackward0",
        )  # fmt: skip
        forward(
            "aten.addmm.default", ((3 * WIDTH,), hidden, (WIDTH, 3 * WIDTH)), qkv,
            deep(LINEAR, CALL, user("self.qkv(x)", "forward"), CALL, first), 61_000, 2, linear,
        )  # fmt: skip
        heads = (8, 12, 1024, 64)
        forward(
            "aten._scaled_dot_product_flash_attention.default", (heads, heads, heads), attn,
            deep(user("F.scaled_dot", "forward"), CALL, first), 48_500, 3,
            "ScaledDotProductFlashAttentionBackward0",
        )  # fmt: skip
        forward(
            "aten.addmm.default", ((WIDTH,), hidden, (WIDTH, WIDTH)), proj,
            deep(LINEAR, CALL, user("self.proj(y)", "forward"), CALL, first), 22_300, 2, linear,
        )  # fmt: skip
        forward(
            "aten.add.Tensor", (hidden, hidden), block, deep(first), 8_100, 0, "AddBackward0",
        )  # fmt: skip
        forward(
            "aten.native_layer_norm.default", (hidden, (WIDTH,), (WIDTH,)), norm2,
            deep(norm, CALL, second), 9_800, 4, "NativeLayerNormBackward0",
        )  # fmt: skip
        line = user("self.down(F.gelu", "forward")
        forward(
            "aten.addmm.default", ((4 * WIDTH,), hidden, (WIDTH, 4 * WIDTH)), up,
            deep(LINEAR, CALL, line, CALL, second), 80_200, 2, linear,
        )  # fmt: skip
        forward(
            "aten.gelu.default", ((TOKENS, 4 * WIDTH),), mlp,
            deep(line, CALL, second), 25_100, 0, "GeluBackward0",
        )  # fmt: skip
        forward(
            "aten.addmm.default", ((WIDTH,), (TOKENS, 4 * WIDTH), (4 * WIDTH, WIDTH)), down,
            deep(LINEAR, CALL, line, CALL, second), 79_600, 2, linear,
        )  # fmt: skip
        forward(
            "aten.add.Tensor", (hidden, hidden), block, deep(second), 8_100, 0, "AddBackward0",
        )  # fmt: skip
    last = user("self.head(self.norm", "forward")
    final = build.module("norm", "LayerNorm", root)
    head = build.module("head", "Linear", root)
    forward(
        "aten.native_layer_norm.default", (hidden, (WIDTH,), (WIDTH,)), final,
        build.stack(library("nn/modules/normalization.py", 229, "forward"), CALL, last, *outer),
        9_800, 4, "NativeLayerNormBackward0",
    )  # fmt: skip
    forward(
        "aten.mm.default", (hidden, (WIDTH, WORDS)), head,
        build.stack(LINEAR, CALL, last, *outer), 960_000, 2, "MmBackward0",
    )  # fmt: skip
    loss = build.stack(
        library("nn/functional.py", 3479, "cross_entropy"),
        user("F.cross_entropy", "step", MAIN_SOURCE, MAIN),
    )
    for operator, grad in (
        ("aten._log_softmax.default", "LogSoftmaxBackward0"),
        ("aten.nll_loss_forward.default", "NllLossBackward0"),
    ):
        forward(operator, ((TOKENS, WORDS),), -1, loss, 310_000, 1, grad)
    for operator, shapes, module, stack, autograd, duration in reversed(calls):
        gradients = 2 if "mm" in operator else 1
        name = "aten.mm.default" if "mm" in operator else operator.replace("forward", "backward")
        if name == operator and gradients == 1:
            base, _, overload = operator.rpartition(".")
            name = (
                f"{base}_backward.{overload}" if "add" not in operator else "aten.sum.dim_IntList"
            )
        for _ in range(gradients):
            build.node(
                name, *shapes, module=module, phase="backward", autograd=autograd,
                forward=stack, duration=round(duration * 1.1), kernel=2 if gradients > 1 else 1,
            )  # fmt: skip
    update = build.stack(
        library("optim/adamw.py", 88, "_multi_tensor_adamw"),
        library("optim/optimizer.py", 525, "wrapper"),
        user("optimizer.step", "step", MAIN_SOURCE, MAIN),
    )
    for operator in ("aten._foreach_mul_.Scalar", "aten._foreach_lerp_.Scalar",
                     "aten._foreach_addcmul_.Scalar", "aten._foreach_sqrt.default",
                     "aten._foreach_addcdiv_.ScalarList"):  # fmt: skip
        for _ in range(max(1, depth // 2)):
            build.node(
                operator, (WIDTH, WIDTH), stack=update, phase="optimizer", kernel=0,
                duration=34_000, dtype="float32",
            )  # fmt: skip
    return build, build.graph("synthetic training step")


def compiled(key: str = "train.py:fused#1") -> tuple[Builder, Graph]:
    """Return a synthetic compiled forward pass: fused kernels of several lines and modules."""
    build = Builder(key)
    build.origins.sources |= {FILE: SOURCE, MAIN: MAIN_SOURCE}
    root = build.module("", "Transformer")
    for path, name in (("norm", "LayerNorm"), ("blocks.0", "Block")):
        build.module(path, name, root)
    runner = build.stack(
        Frame(GENERATED, 118, "call", "generated"),
        library("_inductor/output_code.py", 584, "__call__"),
        MODEL_CALL,
    )
    add = build.stack(user("self.mlp(self.norm2", "forward"), CALL, MODEL_CALL)
    norm = build.stack(user("self.head(self.norm", "forward"), CALL, MODEL_CALL)
    build.origins.compiled_kernels.append(
        Compiled(
            "triton_red_fused_add_native_layer_norm_0",
            ("aten.add.Tensor", "aten.native_layer_norm.default"),
            ("blocks.0", "norm"),
            (add, norm),
        )
    )
    build.node("", kernel=4, stack=runner, compiled=0, duration=12_000)
    build.node(
        "aten.mm.default", (TOKENS, WIDTH), (WIDTH, WORDS), kernel=2, stack=norm,
        module=root, duration=900_000,
    )  # fmt: skip
    return build, build.graph("synthetic compiled forward")


def recording(*made: tuple[Builder, Graph], timed: bool = True) -> Recording:
    """Return a recording of synthetic graphs with their origins, and timings if wanted."""
    names = {f"{build.origins.graph}": graph for build, graph in made}
    found = synthetic.recording(names, failed=False, title="synthetic origins")
    infos = list(found.graphs.values())
    keys = [info.key for info in infos]
    for info, (build, _) in zip(infos, made, strict=True):
        build.origins.graph = info.key
        info.evidence[EvidenceKind.ORIGINS] = Evidence(present=True, how="synthetic")
        if timed:
            info.evidence[EvidenceKind.TIMINGS] = Evidence(present=True, how="synthetic")
    executables = [Executable(id=str(at), graph=key, replays=25) for at, key in enumerate(keys)]
    return Recording(
        found.metadata,
        infos,
        executables=executables,
        processes=found.processes,
        loaded={key: graph for key, (_, graph) in zip(keys, made, strict=True)},
        timeline=found.timeline,
        timings={str(at): build.timings(str(at)) for at, (build, _) in enumerate(made) if timed},
        origins={key: build.origins for key, (build, _) in zip(keys, made, strict=True)},
    )
