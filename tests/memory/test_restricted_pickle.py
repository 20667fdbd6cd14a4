from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.errors import FormatError, TooLargeError, TruncatedError
from capture.memory.restricted_pickle import loads

SNAPSHOT = Path(__file__).parents[1] / "data" / "memory" / "train_step_snapshot.pickle"

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)


@given(plain, st.sampled_from((3, 4, 5)))
def test_plain_data_is_read_as_pickle_reads_it(value: Any, protocol: int) -> None:
    assert loads(pickle.dumps(value, protocol)) == value


def test_a_real_snapshot_is_read_as_pickle_reads_it() -> None:
    content = SNAPSHOT.read_bytes()
    assert loads(content) == pickle.loads(content)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_is_run(protocol: int, tmp_path: Path) -> None:
    target = tmp_path / "made"
    with pytest.raises(FormatError, match=r"has the operation|names"):
        loads(pickle.dumps([Evil(target)], protocol))
    assert not target.exists()


NESTED_KEY = (
    b"\x80\x04}("
    + b")"
    + b"\x94h\x00h\x00\x86"
    + b"".join(b"\x940h" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(1, 60))
)

BROKEN = {
    "claims 4 GB of bytes": (b"\x80\x04\x8e\xff\xff\xff\xff\x00\x00\x00\x00.", TruncatedError),
    "claims 4 GB for a bytearray": (b"\x80\x05\x96\xff\xff\xff\xff\x00\x00\x00\x00.", FormatError),
    "claims a frame of 4 GB": (b"\x80\x04\x95\xff\xff\xff\xff\x00\x00\x00\x00.", TruncatedError),
    "a long of 2 GB": (b"\x80\x02\x8b\xff\xff\xff\x7f.", TruncatedError),
    "far place of the memo": (b"]r\xff\xff\xff\xff", TruncatedError),
    "pops from nothing": (b"0", FormatError),
    "a memo that is not there": (b"h\x07.", FormatError),
    "a number of 100,000 digits": (b"I" + b"9" * 100_000 + b"\n.", FormatError),
    "a list inside itself": (b"]q\x00h\x00a.", TooLargeError),
    "deeply nested": (b"]" * 5_000 + b"a" * 4_999 + b".", TooLargeError),
    "no operation": (b"\x80\x04\xff.", FormatError),
    "refers outside": (b"Pmodule\n.", FormatError),
    "an extension": (b"\x80\x02\x82\x01.", FormatError),
    "nothing": (b"", TruncatedError),
    "a newer protocol": (b"\x80\x09N.", FormatError),
    "a key that takes for ever to hash": (NESTED_KEY + b"Nu.", FormatError),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pickles_are_refused_at_once(name: str) -> None:
    content, error = BROKEN[name]
    started = time.process_time()
    with pytest.raises(error):
        loads(content)
    assert time.process_time() - started < 5


def test_a_pickle_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TooLargeError, match="too long"):
        loads(b"N0" * 100_000 + b"N.", seconds=0)


def test_shared_parts_are_looked_at_once() -> None:
    # 2**40 paths through 40 lists.
    value: list[Any] = []
    for _ in range(40):
        value = [value, value]
    assert loads(pickle.dumps(value))[0][0] is not None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=400))
def test_any_bytes_give_data_or_a_format_error(content: bytes) -> None:
    try:
        loads(content, seconds=10)
    except FormatError:
        return
