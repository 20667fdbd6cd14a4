"""What is kept of exceptions, and how errors are heard of while a capture goes on."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from capture.failures.facts import Raised
from capture.recorder import causes
from capture.recorder.error_watch import ErrorWatch, listening
from capture.recorder.failing import first_of
from capture.recorder.torch_origins_reading import hide_from_compiler

REFUSED = "CUDA error: operation not permitted when stream is capturing"
PREVIOUS = "CUDA error: operation failed due to a previous error during capture"


class Value:
    def item(self) -> float:
        raise RuntimeError(REFUSED)

    def __bool__(self) -> bool:
        raise RuntimeError(REFUSED)


def caught(work: Any) -> BaseException:
    with pytest.raises(BaseException) as info:
        work()
    return info.value


def test_the_expression_that_failed_is_quoted() -> None:
    loss = Value()

    def work() -> None:
        print("loss", 1 + abs(loss.item()))

    found = causes.raised(caught(work), "me")
    call = next(frame for frame in found.frames if frame.function == "work")
    assert (call.call, call.instruction) == ("loss.item()", "CALL")
    assert (found.error, found.message, found.code, found.thread) == (
        "RuntimeError",
        REFUSED,
        900,
        "me",
    )
    assert found.frames[0].function == "item"


def test_a_truth_that_was_asked_for_is_seen_in_the_instruction() -> None:
    value = Value()

    def work() -> int:
        if value:
            return 1
        return 2

    frame = next(f for f in causes.raised(caught(work)).frames if f.function == "work")
    assert frame.call in ("value", "if value")
    assert frame.instruction.startswith(("POP_JUMP", "TO_BOOL"))


def test_an_expression_over_several_lines_and_with_wide_letters() -> None:
    value = Value()

    def work() -> None:
        _ = ("ä", value.item(
        ))  # fmt: skip

    frame = next(f for f in causes.raised(caught(work)).frames if f.function == "work")
    assert frame.call == "value.item( )"


def test_code_without_a_file_has_no_text() -> None:
    code = compile("def f(v):\n    return v.item()\n", "<cell 3>", "exec")
    space: dict[str, Any] = {}
    exec(code, space)
    frame = next(
        f for f in causes.raised(caught(lambda: space["f"](Value()))).frames if f.line == 2
    )
    assert (frame.file, frame.call) == ("<cell 3>", "") or frame.function == "item"


def test_deep_stacks_keep_the_innermost_frames_and_the_users() -> None:
    def dive(depth: int) -> None:
        if depth:
            dive(depth - 1)
        else:
            raise ValueError("deep")

    found = causes.raised(caught(lambda: dive(500)))
    assert len(found.frames) <= causes.MAX_FRAMES + causes.MAX_USER_FRAMES
    assert found.frames[0].function == "dive"


def test_a_message_that_cannot_be_made() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise KeyError

    assert causes.raised(Odd()).message == "its message could not be made"


def test_the_number_of_the_exception_itself_comes_first() -> None:
    error = RuntimeError("something")
    error.error_code = 906  # type: ignore[attr-defined]
    assert causes.raised(error).code == 906
    error.error_code = "x"  # type: ignore[attr-defined]
    assert causes.raised(error).code is None


@pytest.mark.parametrize(
    ("file", "user"),
    [
        ("/home/me/train.py", True),
        ("<string>", True),
        ("/venv/lib/python3.12/site-packages/vllm/worker.py", True),
        ("/venv/lib/python3.12/site-packages/torch/cuda/graphs.py", False),
        ("/venv/lib/python3.12/site-packages/triton/testing.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        ("<frozen runpy>", False),
        (threading.__file__, False),
        (causes.__file__, False),
    ],
)
def test_whose_file_it_is(file: str, user: bool) -> None:
    assert causes.is_user(file) is user


def test_the_chain_has_what_led_to_an_error_and_nothing_older() -> None:
    def work() -> None:
        try:
            raise KeyError("CUDA, long ago")
        except KeyError as old:
            before.append(id(old))
            try:
                try:
                    raise RuntimeError(REFUSED)
                except RuntimeError as error:
                    raise LookupError("no value") from error
            except LookupError as middle:
                raise ValueError("wrapped") from middle

    before: list[int] = []
    found = causes.chain(caught(work), "me", before[0] if before else 0)
    assert [item.code for item in found if item.error == "RuntimeError"] == [900]
    found = causes.chain(caught(work), "me", before[-1])
    assert all(item.error != "KeyError" for item in found)


FIRST = Raised("RuntimeError", REFUSED, 900, "other")
AGAIN = Raised("RuntimeError", PREVIOUS, 901, "main")


def test_the_first_error_is_the_one_to_explain() -> None:
    assert first_of(AGAIN, [AGAIN, FIRST]) is FIRST
    assert first_of(FIRST, [AGAIN]) is FIRST
    assert first_of(AGAIN, []) is AGAIN
    vague = Raised("RuntimeError", "CUDA graphs are fun", None, "main")
    assert first_of(AGAIN, [vague, FIRST]) is FIRST
    assert first_of(AGAIN, [vague, AGAIN]) is vague
    frames = causes.raised(caught(lambda: Value().item())).frames
    own = Raised("ValueError", "mine", None, "main", frames)
    assert first_of(own, [FIRST], "active") is own
    assert first_of(own, [FIRST], "invalidated") is FIRST


class Monitoring:
    """Stands in for ``sys.monitoring``, which Python 3.11 has not."""

    events = SimpleNamespace(RAISE=8)

    def __init__(self, taken: int = 0) -> None:
        self.taken = taken
        self.tools: list[int] = []
        self.on = 0
        self.callback: Any = None

    def use_tool_id(self, tool: int, name: str) -> None:
        if tool == self.taken:
            raise ValueError("in use")
        self.tools.append(tool)

    def free_tool_id(self, tool: int) -> None:
        self.tools.remove(tool)

    def set_events(self, tool: int, events: int) -> None:
        self.on = events

    def register_callback(self, tool: int, event: int, callback: Any) -> None:
        self.callback = callback


@pytest.fixture
def monitoring(monkeypatch: pytest.MonkeyPatch) -> Monitoring:
    made = Monitoring()
    monkeypatch.setattr(sys, "monitoring", made, raising=False)
    return made


def raise_through(monitoring: Monitoring, error: Exception) -> None:
    """Report an exception as Python does: in the frame that raises, then in each that it passes."""
    code = sys._getframe(0).f_code
    monitoring.callback(code, 0, error)
    monitoring.callback(sys._getframe(1).f_code, 0, error)


def test_errors_of_cuda_are_heard_once_while_a_capture_is_open(monitoring: Monitoring) -> None:
    watch = ErrorWatch()
    watch.begin(1)
    assert (watch.on, watch.works, monitoring.on, monitoring.tools) == (True, True, 8, [4])
    error = RuntimeError(REFUSED)
    raise_through(monitoring, error)
    raise_through(monitoring, ValueError("nothing to do with it"))
    worker = threading.Thread(
        target=raise_through, args=(monitoring, RuntimeError(PREVIOUS)), name="worker"
    )
    worker.start()
    worker.join()
    found = watch.end(1)
    assert [(item.code, item.thread) for item in found] == [(900, "MainThread"), (901, "worker")]
    assert found[0].frames[0].function == "raise_through"
    assert (watch.on, monitoring.on, monitoring.tools) == (False, 0, [])


def test_what_python_raises_in_silence_is_passed_over(monitoring: Monitoring) -> None:
    watch = ErrorWatch()
    watch.begin(1)
    raise_through(monitoring, KeyError("cuda.bindings.runtime"))
    raise_through(monitoring, AttributeError("module 'torch' has no attribute 'cuda_x'"))
    ours = compile("0", causes.__file__, "eval")
    monitoring.callback(ours, 0, RuntimeError(REFUSED))
    assert watch.end(1) == []
    watch.begin(1)
    raise_through(monitoring, RuntimeError("cuFFT error: CUFFT_INTERNAL_ERROR"))
    raise_through(monitoring, ValueError("cudaErrorStreamCaptureUnsupported"))
    assert len(watch.end(1)) == 2


def test_captures_that_overlap_hear_the_same_errors(monitoring: Monitoring) -> None:
    watch = ErrorWatch()
    watch.begin(1)
    watch.begin(2)
    raise_through(monitoring, RuntimeError(REFUSED))
    assert len(watch.end(1)) == 1
    assert watch.on
    assert len(watch.so_far(2)) == 1
    assert len(watch.end(2)) == 1
    assert not watch.on
    assert watch.end(2) == []


def test_an_id_that_is_used_again_is_another_error(monitoring: Monitoring) -> None:
    watch = ErrorWatch()
    watch.begin(1)
    error = RuntimeError(REFUSED)
    raise_through(monitoring, error)
    error.args = (PREVIOUS,)  # stands for another exception at the same address
    raise_through(monitoring, error)
    assert [item.code for item in watch.end(1)] == [900, 901]


def test_a_tool_that_has_the_id_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Monitoring(taken=4)
    monkeypatch.setattr(sys, "monitoring", made, raising=False)
    watch = ErrorWatch()
    watch.begin(1)
    assert made.tools == [3]
    watch.end(1)


def test_without_monitoring_nothing_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "monitoring", raising=False)
    watch = ErrorWatch()
    watch.begin(1)
    assert not watch.works
    assert watch.end(1) == []


def test_listening_that_fails_is_not_heard_of(monitoring: Monitoring) -> None:
    class Odd(RuntimeError):
        @property
        def args(self) -> Any:  # type: ignore[override]
            raise KeyError

    watch = ErrorWatch()
    watch.begin(1)
    raise_through(monitoring, Odd())
    assert watch.end(1) == []


def test_torchs_compiler_is_told_of_what_listens() -> None:
    names = {function.__qualname__ for function in listening()}
    assert {"ErrorWatch._raised", "says_cuda", "raised_at", "described", "code_of"} <= names
    assert "item" not in names


@pytest.mark.filterwarnings("ignore")
def test_what_is_hidden_is_not_compiled() -> None:
    import torch

    def hidden(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def plain(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    compiled: list[str] = []

    def backend(name: str) -> Any:
        def build(module: Any, inputs: Any) -> Any:
            compiled.append(name)
            return module.forward

        return build

    hide_from_compiler(hidden)
    for function in (hidden, plain):
        torch.compile(function, backend=backend(function.__name__))(torch.ones(2))
    assert compiled == ["plain"]
