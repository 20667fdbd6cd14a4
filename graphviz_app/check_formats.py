"""Checks of a policy as text, JSON, JUnit XML or annotations of a workflow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape, quoteattr

from capture.compare.gate import Check, State, verdict

from .report_formats import clean

WORDS = {State.HELD: "held", State.BROKEN: "broken", State.UNKNOWN: "could not tell"}


def as_text(name: str, checks: Sequence[Check]) -> str:
    """Return what is broken or unknown line by line, then a count of all."""
    lines = [
        f"{WORDS[check.state]:<14}  {check.rule}"
        f"{f' of {clean(check.graph)}' if check.graph else ''}: {clean(check.words)}"
        for state in (State.BROKEN, State.UNKNOWN)
        for check in checks
        if check.state is state
    ]
    counts = ", ".join(
        f"{sum(check.state is state for check in checks)} {WORDS[state]}" for state in WORDS
    )
    lines.append(f"{name}: {WORDS[verdict(list(checks))]} ({counts})")
    return "\n".join(lines) + "\n"


def as_json(name: str, checks: Sequence[Check]) -> str:
    """Return all checks as a document."""
    content = {
        "file": name,
        "state": verdict(list(checks)).value,
        "checks": [
            {
                "rule": check.rule,
                "graph": check.graph,
                "state": check.state.value,
                "words": check.words,
            }
            for check in checks
        ],
    }
    return json.dumps(content, indent=2) + "\n"


def as_junit(name: str, checks: Sequence[Check]) -> str:
    """Return JUnit XML: a broken rule is a failure, one that cannot be told an error."""
    failures = sum(check.state is State.BROKEN for check in checks)
    errors = sum(check.state is State.UNKNOWN for check in checks)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuite name={_attribute(f'cglens check {name}')} tests={_attribute(len(checks))} "
        f"failures={_attribute(failures)} errors={_attribute(errors)}>",
    ]
    for check in checks:
        head = (
            f"  <testcase classname={_attribute(check.graph or name)} name={_attribute(check.rule)}"
        )
        if check.state is State.HELD:
            lines.append(f"{head}/>")
            continue
        tag = "failure" if check.state is State.BROKEN else "error"
        message = _attribute(check.words)
        body = escape(clean(check.words))
        lines.append(f"{head}><{tag} message={message}>{body}</{tag}></testcase>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _attribute(value: object) -> str:
    return quoteattr(clean(str(value)))


def as_github(name: str, checks: Sequence[Check]) -> str:
    """Return workflow commands: an error for each broken rule, a warning for what is unknown."""
    lines = []
    for check in checks:
        if check.state is State.HELD:
            continue
        command = "error" if check.state is State.BROKEN else "warning"
        title = f"cglens check: {check.rule}"
        message = f"{check.graph}: {check.words}" if check.graph else check.words
        lines.append(
            f"::{command} file={_property(name)},title={_property(title)}::{_message(message)}"
        )
    return "".join(f"{line}\n" for line in lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: dict[str, Callable[[str, Sequence[Check]], str]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "github": as_github,
}
