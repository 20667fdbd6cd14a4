"""What is noticed of captures beside their nodes: calls inside them, and owners on the host."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from capture.model import Graph, GraphInfo
from capture.nodes.host import HostPayload, symbol_of
from capture.nodes.memcpy import MemcpyEnd, MemcpyPayload
from capture.noticed import HostOwner, noticed_in
from capture.recorder.host_owners import HostOwners
from capture.recorder.timeline import ExecutableState
from capture.recorder.torch_notices import Notices, TorchStorages
from capture.recorder.triton_seeds import SeedReader, draws_of
from tests.analysis.graphs import graph_of

PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Holder:
    """Stands for a framework's graph object."""


class Followed:
    """Owners that are followed for one graph, with an executable whose replays are counted."""

    def __init__(self, graph: Graph) -> None:
        self.holder: Any = Holder()
        self.state = ExecutableState(1, 1)
        self.owners = HostOwners(TorchStorages())
        self.found, self.missing = self.owners.find(graph, self.holder, 1, lambda: self.state)

    def gone(self) -> list[HostOwner]:
        return self.owners.gone(1)


def calling(function: Any, cast: bool = False) -> Graph:
    address = int.from_bytes(bytes(function), "little")
    if cast:  # as scripts do; it ties the function into a cycle
        assert ctypes.cast(function, ctypes.c_void_p).value == address
    assert symbol_of(address) == ("", "")
    return graph_of(1, [], ["host"], [HostPayload(function_address=address)])


def copying(tensor: torch.Tensor) -> Graph:
    source = MemcpyEnd(memory_type="host", address=tensor.data_ptr())
    return graph_of(1, [], ["memcpy"], [MemcpyPayload(source=source, width_bytes=4)])


def test_a_callback_that_lives_and_one_that_dies() -> None:
    callback = PROTOTYPE(test_a_callback_that_lives_and_one_that_dies)
    followed = Followed(calling(callback))
    (owner,) = followed.found
    assert owner.owner.startswith("ctypes callback of test_a_callback_that_lives")
    followed.state.replays = 3
    assert followed.gone() == []
    del callback
    (gone,) = followed.gone()
    assert (gone.gone, gone.replays_before) == (True, 3)
    assert gone.gone_at is not None
    assert gone.gone_at.function == "test_a_callback_that_lives_and_one_that_dies"


BINDINGS = "/site-packages/cuda/bindings/driver.cpython-312-x86_64-linux-gnu.so"


def through(words: Any, library: str = BINDINGS) -> Graph:
    """Return a graph that calls a library's function with the words as user data."""
    payload = HostPayload(
        function_address=0x5000, library=library, user_data_address=ctypes.addressof(words)
    )
    return graph_of(1, [], ["host"], [payload])


def test_a_callback_that_cuda_bindings_calls() -> None:
    callback = PROTOTYPE(print)
    address = int.from_bytes(bytes(callback), "little")
    words = (ctypes.c_uint64 * 2)(address, 7)
    followed = Followed(through(words))
    (owner,) = followed.found
    assert (owner.address, owner.through) == (address, ctypes.addressof(words))
    assert owner.owner
    assert followed.gone() == []
    words[0] = 0  # as when cuda.bindings has freed them
    (gone,) = followed.gone()
    assert (gone.data_gone, gone.gone) == (True, False)
    words[0] = address
    del callback
    (gone,) = followed.gone()
    assert (gone.through, gone.gone) == (owner.through, True)
    # Somebody else's function may do with its user data what it likes.
    assert Followed(through(words, "/lib/libc.so.6")).found == []
    # User data that leads nowhere, or to a function of a library.
    libc = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
    assert Followed(through((ctypes.c_uint64 * 2)(libc, 0))).found == []
    nowhere = graph_of(
        1, [], ["host"], [HostPayload(function_address=1, library=BINDINGS, user_data_address=64)]
    )
    assert Followed(nowhere).found == []


@pytest.mark.parametrize("cast", [False, True])
def test_a_function_that_nobody_has(cast: bool) -> None:
    graph = calling(PROTOTYPE(print), cast)
    (owner,) = Followed(graph).found
    assert (owner.kind, owner.owner) == ("function", "")


def test_a_callback_that_waits_for_the_garbage_collector_is_gone() -> None:
    kept = [PROTOTYPE(print)]
    followed = Followed(calling(kept[0], cast=True))
    assert followed.found[0].owner
    assert followed.gone() == []
    kept.clear()
    (gone,) = followed.gone()
    assert (gone.gone, gone.gone_at) == (True, None)


def keep(callback: Any) -> Iterator[Any]:
    yield callback


def test_a_callback_in_a_local_variable_or_a_generator_is_held() -> None:
    local = PROTOTYPE(print)
    assert Followed(calling(local, cast=True)).found[0].owner
    suspended = keep(PROTOTYPE(print))
    followed = Followed(calling(next(suspended), cast=True))
    assert followed.found[0].owner
    assert followed.gone() == []


def test_a_callback_that_goes_with_its_graph_is_no_fault() -> None:
    callback = PROTOTYPE(print)
    followed = Followed(calling(callback))
    del callback
    followed.holder = None
    assert followed.gone() == []
    # The graph was replayed in between after all.
    followed.state.replays += 1
    assert [item.replays_after for item in followed.gone()] == [1]


def test_memory_lives_as_long_as_any_tensor_of_its_storage() -> None:
    tensor = torch.zeros(64)
    followed = Followed(copying(tensor[16:]))
    (owner,) = followed.found
    assert (owner.kind, owner.address, owner.size_bytes) == ("memory", tensor.data_ptr(), 256)
    assert "float32" in owner.owner
    view = tensor[8:]
    del tensor
    assert followed.gone() == []  # a view that was made later holds the storage
    del view
    (gone,) = followed.gone()
    assert gone.gone_at is not None


def test_memory_that_no_tensor_owns() -> None:
    buffer = ctypes.create_string_buffer(64)
    source = MemcpyEnd(memory_type="host", address=ctypes.addressof(buffer))
    graph = graph_of(1, [], ["memcpy"], [MemcpyPayload(source=source)])
    assert [(item.kind, item.owner) for item in Followed(graph).found] == [("memory", "")]


def test_nothing_is_looked_for_where_nothing_of_the_host_is_used() -> None:
    followed = Followed(graph_of(1, [], ["memset"], [None]))
    assert (followed.found, followed.missing, followed.gone()) == ([], "", [])


@pytest.fixture
def notices() -> Iterator[Notices]:
    before = torch.Tensor.record_stream
    made = Notices()
    yield made
    assert torch.Tensor.record_stream is before
    assert "record_stream" not in vars(torch.Tensor)


def test_record_stream_is_noticed_with_its_line_and_fails_as_before(notices: Notices) -> None:
    x = torch.zeros(16)
    with pytest.raises(Exception) as plain:
        x.record_stream(None)  # type: ignore[arg-type]
    noticing = notices.begin()
    for _ in range(2):
        with pytest.raises(type(plain.value)) as hooked:
            x.record_stream(None)  # type: ignore[arg-type]
        assert str(hooked.value) == str(plain.value)
    noticing.stop()
    (call,) = noticing.found.record_streams
    assert (call.times, call.size_bytes) == (2, 128)
    assert call.place is not None
    assert call.place.file == __file__
    noticing.stop()  # a second end changes nothing
    assert len(noticing.found.record_streams) == 1


def test_numbers_drawn_on_the_host(notices: Notices) -> None:
    noticing = notices.begin()
    noticing.stop()
    assert noticing.found.host_random == []
    for draw, name in (
        (random.random, "Python's random"),
        (lambda: torch.rand(1), "torch's generator of the CPU"),
    ):
        noticing = notices.begin()
        draw()
        noticing.stop()
        assert noticing.found.host_random == [name]


def test_captures_may_overlap(notices: Notices) -> None:
    first, second = notices.begin(), notices.begin()
    first.stop()
    assert "record_stream" in vars(torch.Tensor)
    second.stop()


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ("tl.rand(seed, offsets)", [{"seed"}]),
        ("tl.rand(tl.load(seed), offsets)", []),
        ("tl.rand(seed, offsets + tl.load(step))", []),
        ("tl.rand(42, offsets)", [set()]),
        ("state = seed + 1\n    tl.randint(state, offsets)", [{"seed"}]),
        ("state = tl.load(seed)\n    tl.randn(state, offsets)", []),
        ("tl.rand(helper(seed), offsets)", []),
        ("tl.load(seed)", []),
    ],
)
def test_seeds_in_the_source_of_a_kernel(body: str, parameters: list[set[str]]) -> None:
    source = f"""
    @triton.jit
    def kernel(x, seed, step, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        {body.replace(chr(10), chr(10) + "    ")}
    """
    assert [set(draw.parameters) for draw in draws_of(source)] == parameters


class Kernel:
    """Stands for a kernel of Triton."""

    src = "def dropout(x, seed):\n    return tl.rand(seed, x)\n"
    arg_names = ("x", "seed")

    fn = SimpleNamespace(__name__="dropout")


def test_a_seed_that_is_a_number_in_the_launch(notices: Notices) -> None:
    reader = SeedReader()
    assert reader.constant(Kernel, (None,), {"seed": 7}) == ("seed", 7)
    assert reader.constant(Kernel, (None, torch.zeros(1)), {}) is None
    noticing = notices.begin()
    notices.launched(Kernel, (None, torch.zeros(1)), {}, None)
    notices.launched(Kernel, (None, 9), {}, None)
    notices.launched(Kernel, (None, 9), {"warmup": True}, None)
    noticing.stop()
    assert noticing.found.launches == {"dropout": 2}
    assert [(item.launch, item.value) for item in noticing.found.seeds] == [(1, 9)]


def test_what_was_noticed_is_read_back() -> None:
    made = Notices()
    holder, callback = Holder(), PROTOTYPE(print)
    noticing = made.begin()
    made.find_owners(noticing, calling(callback), holder, 1, lambda: None)
    noticing.stop()
    made.taken(1, None)
    del callback
    import msgspec

    info = GraphInfo(
        key="k",
        name="k",
        extra={
            "noticed": msgspec.to_builtins(noticing.found),
            "noticed_later": made.later({1, 2})[1],
        },
    )
    read = noticed_in(info)
    assert read is not None
    assert [owner.gone for owner in read.owners] == [True]
    assert set(made.later({2})) == set()
