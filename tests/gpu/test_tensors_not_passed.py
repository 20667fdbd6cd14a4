"""Tensors that operators take or return, and whose addresses their kernels do not hold.

The benchmark of pointers does not expect those to be found. Here they are filled with something
else before a replay: what is not read changes no result, and what is not written stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
aten = torch.ops.aten
STRANGE = 77
Made = tuple[Callable[..., Any], list[Any]]


def _randn(*shape: int) -> Any:
    # Of the CPU's generator: a capture that failed in another test may hold the device's.
    return torch.randn(*shape).cuda()


def cudnn_attention() -> Made:
    heads = [_randn(2, 4, 64, 64).half() for _ in range(3)]
    return lambda *qkv: aten._scaled_dot_product_cudnn_attention(
        *qkv, None, False, 0.0, True, False
    ), heads


def efficient_attention() -> Made:
    heads = [_randn(2, 4, 64, 64) for _ in range(3)]
    return lambda *qkv: aten._scaled_dot_product_efficient_attention(*qkv, None, True, 0.0, True), (
        heads
    )


def efficient_attention_backward() -> Made:
    heads = [_randn(2, 4, 64, 64) for _ in range(3)]
    found = aten._scaled_dot_product_efficient_attention(*heads, None, True, 0.0, True)
    output, sums, seed, offset = (item.cuda() for item in found)

    def backward(gradient: Any, q: Any, k: Any, v: Any, *rest: Any) -> Any:
        wanted = [True, True, True, False]
        return aten._scaled_dot_product_efficient_attention_backward(
            gradient, q, k, v, None, *rest, 0.0, wanted, True
        )[:3]

    return backward, [_randn(*output.shape), *heads, output, sums, seed, offset]


def batch_norm_backward(channels: int, side: int) -> Made:
    x = _randn(32, channels, side, side)
    weight, bias = _randn(channels), _randn(channels)
    mean, variance = torch.zeros_like(weight), torch.ones_like(weight)
    found = aten.cudnn_batch_norm(x, weight, bias, mean, variance, True, 0.1, 1e-5)
    _, saved_mean, saved_variance, reserve = found

    def backward(*given: Any) -> Any:
        return aten.cudnn_batch_norm_backward(*given, 1e-5, reserve)

    given = [x, _randn(*x.shape), weight, mean, variance, saved_mean, saved_variance]
    return backward, given


def layer_norm_backward() -> Made:
    x, weight, bias = _randn(64, 512), _randn(512), _randn(512)
    _, mean, deviation = aten.native_layer_norm(x, [512], weight, bias, 1e-5)

    def backward(gradient: Any, *given: Any) -> Any:
        x, mean, deviation, weight, bias = given
        return aten.native_layer_norm_backward(
            gradient, x, [512], mean, deviation, weight, bias, [True, True, True]
        )

    return backward, [_randn(*x.shape), x, mean, deviation, weight, bias]


def nll_loss_backward() -> Made:
    x, target = _randn(64, 100).log_softmax(1), torch.arange(64, device="cuda")
    loss, total = aten.nll_loss_forward(x, target, None, 1, -100)

    def backward(gradient: Any, x: Any, target: Any, total: Any) -> Any:
        return aten.nll_loss_backward(gradient, x, target, None, 1, -100, total)

    return backward, [torch.ones_like(loss), x, target, total]


def _relu() -> Made:
    return torch.relu, [_randn(8, 8)]


def _replay_twice(made: Made, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> list[bool]:
    """Return whether each result that was not filled, and each that was, stays as it was."""
    function, given = made
    for _ in range(2):
        function(*given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made_ = function(*given)
    results = list(made_) if isinstance(made_, tuple | list) else [made_]
    graph.replay()
    torch.cuda.synchronize()
    for at in inputs:
        given[at].fill_(float("nan") if given[at].is_floating_point() else STRANGE)
    for at in outputs:
        results[at].fill_(STRANGE)
    before = [item.clone() if isinstance(item, torch.Tensor) else None for item in results]
    graph.replay()
    torch.cuda.synchronize()
    return [
        torch.allclose(old.double(), new.double(), rtol=1e-3, atol=1e-3)  # sums in any order
        for old, new in zip(before, results, strict=True)
        if isinstance(old, torch.Tensor)
    ]


@pytest.mark.parametrize(
    ("make", "inputs", "outputs"),
    [
        pytest.param(cudnn_attention, (), (6, 7), id="cuDNN attention: seed and offset"),
        pytest.param(efficient_attention, (), (2, 3), id="attention: seed and offset"),
        pytest.param(efficient_attention_backward, (6, 7), (), id="its backward: seed and offset"),
        pytest.param(lambda: batch_norm_backward(64, 32), (3, 4), (), id="cuDNN batch norm, few"),
        pytest.param(lambda: batch_norm_backward(256, 8), (3, 4), (), id="cuDNN batch norm, many"),
        pytest.param(layer_norm_backward, (5,), (), id="backward of layer norm: bias"),
        pytest.param(nll_loss_backward, (1,), (), id="backward of the loss: its input"),
    ],
)
def test_what_is_not_passed_is_not_touched(
    make: Callable[[], Made], inputs: tuple[int, ...], outputs: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    assert all(_replay_twice(make(), inputs, outputs))


def test_what_is_read_changes_the_result() -> None:
    assert _replay_twice(_relu(), (0,), ()) == [False]
