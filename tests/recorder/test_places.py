"""Where a capture is said to have happened."""

from __future__ import annotations

from pathlib import Path
from types import FrameType

from capture.model import Place
from capture.recorder.places import is_generated, locate, place_key, short_name

CALL = "import sys\ndef call(inner=None):\n    return inner() if inner else sys._getframe()\n"


def frame_in(path: Path, inner: object = None) -> FrameType:
    namespace: dict[str, object] = {}
    exec(compile(CALL, str(path), "exec"), namespace)
    call = namespace["call"]
    return call(inner)  # type: ignore[operator, no-any-return]


def test_code_that_the_compiler_wrote_is_not_the_user_s(tmp_path: Path) -> None:
    written = tmp_path / "torchinductor_me" / "lj" / "cljdf.py"
    script = tmp_path / "train.py"
    frame = frame_in(script, lambda: frame_in(written))
    spot = locate(frame)
    assert spot.place is not None
    assert not is_generated(spot.place.file)
    assert all(not is_generated(file) for file, _, _ in spot.stack)


def test_generated_code_stands_where_no_user_s_line_is() -> None:
    place = Place(file="/var/cache/torchinductor_me/lj/cljdf.py", line=7, function="call")
    assert place_key(place, []) == "torch.compile"
    assert short_name(place, "backward") == "torch.compile, backward"


def test_keys_are_equal_in_another_checkout() -> None:
    place = Place(file="/home/me/project/bench/run.py", line=3, function="step")
    assert place_key(place, ["/home/me/project"]) == "bench/run.py:step"


def test_a_decorated_function_is_where_its_own_code_is() -> None:
    import functools
    from typing import Any

    from capture.recorder.torch_capture import place_of

    def decorated(function: Any) -> Any:
        @functools.wraps(function)
        def around() -> Any:
            return function()

        return around

    def step() -> None: ...

    own = step.__code__
    for shape in (step, decorated(step), functools.partial(decorated(decorated(step)))):
        place = place_of(shape)
        assert place is not None
        assert (place.line, place.function) == (own.co_firstlineno, own.co_qualname)
    circle = decorated(step)
    circle.__wrapped__ = circle
    assert place_of(circle) is not None
