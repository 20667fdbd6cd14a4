"""Policies: every key of the documentation is read, and mistakes are named with the way out."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import capture.policy as policies
from capture.errors import FormatError
from capture.policy import Policy, parse_policy, read_policy


def test_the_documented_example_is_a_policy_with_every_key() -> None:
    text = (policies.__doc__ or "").partition("::\n")[2]
    example = "\n".join(line.strip() for line in text.splitlines())
    found = parse_policy(example)
    assert found.nodes_most == 500
    assert found.findings_allowed == ("idle_gaps",)
    content = tomllib.loads(example)
    keys = {
        f"{section}.{key}" if isinstance(inner, dict) else section
        for section, inner in content.items()
        for key in (inner if isinstance(inner, dict) else [""])
    }
    assert keys == set(policies._KEYS)


def test_an_empty_file_is_the_default() -> None:
    assert parse_policy("") == Policy()


def test_false_is_no_limit() -> None:
    found = parse_policy("[time]\nreplay_increase = false\n[findings]\nseverity = false")
    assert (found.time_replay_increase, found.findings_severity) == (None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[nodes]\nmsot = 1", "did you mean 'nodes.most'"),
        ("[times]\nreplay_increase = 1", "did you mean 'time.replay_increase'"),
        ("critical_path_increase = 1", "did you mean 'time.critical_path_increase'"),
        ("graph = []", "did you mean 'graphs'"),
        ("xyz = 1", "there are graphs, nodes.most"),
        ("[nodes]\nmost = -1", "a whole number"),
        ("[nodes]\nmost = true", "a whole number"),
        ("[nodes]\nforbidden = 'host'", "a list of texts"),
        ("[time]\nreplay_increase = '5 %'", "a share"),
        ("[kernels]\nnew = 'no'", '"allow" or "forbid"'),
        ("[findings]\nseverity = 'info'", '"notice" or "warning"'),
        ("[nodes\nmost = 1", "is no TOML"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_policy(text, "ci.toml")
    assert "ci.toml" in str(error.value)
    assert said in str(error.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("a.toml", "b.toml"):
        with pytest.raises(FormatError, match="cannot be read"):
            read_policy(tmp_path / name)
