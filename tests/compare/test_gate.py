"""What holds a policy, what breaks it and what cannot be told."""

from __future__ import annotations

import pytest

from capture.compare.gate import Check, State, check_graph, check_recording, verdict
from capture.model import (
    Executable,
    Failure,
    Graph,
    GraphInfo,
    Metadata,
    Recording,
)
from capture.policy import Policy, parse_policy
from capture.timings import Timings
from tests.compare.graphs import conditional, graph, kernels


def recording(
    one: Graph, replay_ns: list[int] | None = None, failed: int = 0, node_ns: int = 1000
) -> Recording:
    """Return a synthetic recording; with replay times, every node took `node_ns`."""
    info = GraphInfo(key="g", name="g", node_count=len(one))
    timings = Timings(
        executable="e",
        graph="g",
        node=[str(at) for at in range(len(one))],
        median_ns=[node_ns] * len(one),
        makespan_ns=replay_ns or [],
        untraced_replay_ns=replay_ns or [],
    )
    return Recording(
        Metadata(),
        [info],
        [
            GraphInfo(key=f"f{at}", name="f", failure=Failure(error="E", message=""))
            for at in range(failed)
        ],
        executables=[Executable(id="e", graph="g")],
        loaded={"g": one},
        timings={"e": timings} if replay_ns else {},
    )


def states(checks: list[Check], rule: str) -> set[State]:
    return {check.state for check in checks if check.rule == rule}


@pytest.mark.parametrize(
    ("text", "rule", "held"),
    [
        ("[nodes]\nmost = 3", "nodes.most", True),
        ("[nodes]\nmost = 2", "nodes.most", False),
        ("[nodes]\nforbidden = ['host', 'memset']", "nodes.forbidden", True),
        ("[nodes]\nforbidden = ['kernel']", "nodes.forbidden", False),
        ("[kernels]\nrequired = ['a_ker']", "kernels.required", True),
        ("[kernels]\nrequired = ['flash']", "kernels.required", False),
        ("[kernels]\nforbidden = ['flash']", "kernels.forbidden", True),
        ("[kernels]\nforbidden = ['b_kernel']", "kernels.forbidden", False),
        ("[coverage]\ntimed = 0.5", "coverage.timed", False),
    ],
)
def test_rules_of_one_graph(text: str, rule: str, held: bool) -> None:
    found = check_graph(kernels("abc"), parse_policy(text))
    assert states(found, rule) == {State.HELD if held else State.BROKEN}
    assert verdict(found) is (State.HELD if held else State.BROKEN)


def test_nodes_of_bodies_count() -> None:
    found = check_graph(conditional(kernels("ab")), parse_policy("[nodes]\nmost = 2"))
    assert states(found, "nodes.most") == {State.BROKEN}
    found = check_graph(conditional(kernels("ab")), parse_policy("[nodes]\nforbidden=['kernel']"))
    assert any("0/0/0" in check.words for check in found)


def test_failed_captures_break_the_default() -> None:
    found = check_recording(recording(kernels("a"), failed=1), Policy())
    assert states(found, "coverage.failed_captures") == {State.BROKEN}


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [("abc", "abz", "kernels.new"), ("abc", "ab", "kernels.missing")],
)
def test_kernels_against_a_baseline(before: str, after: str, rule: str) -> None:
    one, other = recording(kernels(before), [10] * 5), recording(kernels(after), [10] * 5)
    assert states(check_recording(other, Policy(), one), rule) == {State.BROKEN}
    section, name = rule.split(".")
    allowed = parse_policy(f"[{section}]\n{name} = 'allow'")
    assert states(check_recording(other, allowed, one), rule) == set()


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ([1000, 1001, 1002], [1010, 1011, 1012], State.HELD),
        ([1000, 1001, 1002], [900, 901, 902], State.HELD),
        ([1000, 1001, 1002], [1200, 1201, 1202], State.BROKEN),
        ([800, 1000, 1200], [900, 1100, 1300], State.UNKNOWN),
        ([1000], [1200], State.UNKNOWN),
    ],
)
def test_replay_time_within_a_tolerance_and_the_noise(
    before: list[int], after: list[int], state: State
) -> None:
    found = check_recording(
        recording(kernels("ab"), after), Policy(), recording(kernels("ab"), before)
    )
    assert states(found, "time.replay_increase") == {state}


def test_a_longer_critical_path_breaks() -> None:
    found = check_recording(
        recording(kernels("ab"), [2000, 2001, 2002], node_ns=1100),
        Policy(),
        recording(kernels("ab"), [2000, 2001, 2002]),
    )
    assert states(found, "time.critical_path_increase") == {State.BROKEN}


def test_times_that_are_not_known_cannot_be_told() -> None:
    found = check_recording(recording(kernels("ab")), Policy(), recording(kernels("ab")))
    assert verdict(found) is State.UNKNOWN
    allowed = parse_policy("[time]\nreplay_increase=false\ncritical_path_increase=false")
    found = check_recording(recording(kernels("ab")), allowed, recording(kernels("ab")))
    assert verdict(found) is State.HELD


def test_a_graph_of_the_baseline_that_is_gone() -> None:
    base = recording(kernels("ab"))
    base.graphs["h"] = GraphInfo(key="h", name="h", topology="x")
    found = check_recording(recording(kernels("ab")), Policy(), base)
    assert states(found, "coverage.missing_graphs") == {State.BROKEN}


def test_a_pattern_that_fits_nothing_cannot_be_told() -> None:
    found = check_recording(recording(kernels("a")), parse_policy("graphs = ['nope*']"))
    assert verdict(found) is State.UNKNOWN


def test_kernels_that_were_not_read_cannot_be_told() -> None:
    unread = recording(graph(["kernel"], []))
    found = check_recording(unread, Policy(), unread)
    assert states(found, "kernels.new") == {State.UNKNOWN}


def test_broken_outweighs_unknown() -> None:
    checks = [Check(rule="r", state=state, words="") for state in State]
    assert verdict(checks) is State.BROKEN
    assert verdict([checks[0], checks[2]]) is State.UNKNOWN
    assert verdict([]) is State.HELD


def test_equal_nodes_that_take_another_time_are_told() -> None:
    import capture

    sides = [recording(kernels("abc"), [3000, 3001, 3002]) for _ in range(2)]
    for side, slow in zip(sides, (1000, 1500), strict=True):
        timings = side.timings("e")
        assert timings is not None
        timings.median_ns[1] = slow
        timings.minimum_ns = [value - 5 for value in timings.median_ns]
        timings.p95_ns = [value + 5 for value in timings.median_ns]
    (pair,) = capture.compare(*sides).pairs
    assert pair.diff.same
    (found,) = pair.diff.durations
    assert (found.before, found.before_ns, found.after_ns) == ("1", 1000, 1500)


def with_pool(reserved: list[int]) -> Recording:
    """Return a synthetic recording whose pool reserves so many bytes at each mark."""
    from capture.memory_map import Mark, Memory, Sums

    found = recording(kernels("ab"))
    count = len(reserved)
    memory = Memory(
        graph="g",
        pool=(1, 0),
        pools=[(0, 0), (1, 0)],
        marks=[Mark(name=name) for name in ("before capture", "after capture")],
        sums=Sums(
            mark=[*range(count), 1],
            device=[0] * (count + 1),
            pool=[*[1] * count, 0],
            segments=[1] * (count + 1),
            reserved_bytes=[*reserved, 10**9],
            allocated_bytes=[0] * (count + 1),
            active_bytes=[0] * (count + 1),
            requested_bytes=[0] * (count + 1),
            largest_free_bytes=[0] * (count + 1),
        ),
    )
    return Recording(
        found.metadata,
        list(found.graphs.values()),
        loaded={"g": found.graph("g")},
        evidence={"memory": {"g": memory}},
    )


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("pool_most_bytes = 2200", State.HELD),
        ("pool_most_bytes = 2100", State.BROKEN),
        ("pool_increase = 0.1", State.HELD),
        ("pool_increase = 0.05", State.BROKEN),
    ],
)
def test_bytes_of_the_pool(text: str, state: State) -> None:
    policy = parse_policy(f"[memory]\n{text}")
    rule = f"memory.{text.partition(' ')[0]}"
    found = check_recording(with_pool([0, 2200]), policy, with_pool([0, 2000]))
    assert states(found, rule) == {state}
    unseen = recording(kernels("ab"))
    assert states(check_recording(unseen, policy, unseen), rule) == {State.UNKNOWN}


def test_memory_is_compared() -> None:
    import capture

    (pair,) = capture.compare(with_pool([0, 2000]), with_pool([0, 2200])).pairs
    sizes = [(item.name, item.before_bytes, item.after_bytes) for item in pair.diff.sizes]
    assert ("pool, reserved", 2000, 2200) in sizes
