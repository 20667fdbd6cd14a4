r"""What the driver prints about a node in its DOT: labels to payloads.

Two shapes of label exist. Records, with fields in braces (verbose dumps)::

    {KERNEL
    | {ID | 0 (topoId: 2) | _Z5stepAv\<\<\<4,64,0\>\>\>}
    | {priority | 0}
    }

and lines (plain dumps, and node types without fields)::

    6
    MEMCPY
    (DtoD,1024)

Addresses of nodes and the ``topoId`` are left out: the first die with the process, and the second
follows from the edges. Fields that are not understood are kept as text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from ...model import Extra

_TOKEN = re.compile(r"[{}|]|(?:[^\\{}|]++|\\.?)++", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ID = re.compile(r"\s*(\d+)(?:\s*\(topoId:\s*\d+\))?\s*\Z")
_LINE_FIELD = re.compile(r"([A-Za-z][\w ]*+):\s*+(.*)\Z", re.DOTALL)
_BODY = re.compile(r"\s*(graph_\w+)\s*\Z")
_COUNTED = re.compile(r"\((\w+),(\d+)\)\Z")

Fields = dict[str, Any]


class Label(NamedTuple):
    """A label taken apart.

    Attributes
    ----------
    word : str
        The driver's word for the node type, such as ``"MEM_ALLOC"``; empty for a kernel or a
        child graph in a plain dump.
    name : str
        Kernel name with launch dimensions as printed; empty for other types.
    fields : dict
        Text by the driver's name of the field; a map for fields in a group of their own.
    bodies : list of (str, str)
        (caption, name) of each graph that the node refers to.
    counted : tuple of (str, int), optional
        ``(DtoD,1024)`` of plain dumps.
    """

    word: str
    name: str
    fields: Fields
    bodies: list[tuple[str, str]]
    counted: tuple[str, int] | None = None


def split_label(text: str, cut: bool = False) -> Label:
    """Take a label apart.

    Parameters
    ----------
    text : str
        As it stands between the quotes.
    cut : bool
        The text ends too early: what follows the last complete field is dropped.
    """
    stripped = text.lstrip()
    if stripped.startswith("{"):
        return _split_record(stripped, cut)
    for escape in ("\\n", "\\l", "\\r"):
        text = text.replace(escape, "\n")
    lines = [_ESCAPE.sub(r"\1", line.strip()) for line in text.split("\n")]
    if cut:
        lines.pop()
    return _split_lines([line for line in lines if line])


def _split_record(text: str, cut: bool) -> Label:
    # Piece by piece, since most pieces are the same in thousands of labels.
    pieces = text.split("\n|")
    if len(pieces) == 1:
        pieces = re.split(r"\\n\|", text)
    if len(pieces) == 1 and not cut:
        whole = record(text)
        top = whole[0] if whole and isinstance(whole[0], list) else whole
        if not top or not isinstance(top[0], str):
            return Label("", "", {}, [])
        word, fields = top[0], list(top[1:])
    else:
        if cut:
            pieces.pop()
        word = pieces[0].strip("{} \n\\") if pieces else ""
        fields = [record(piece) for piece in pieces[1:]]
    label = Label(word.upper(), "", {}, [])
    name = ""
    if word == "BATCH_MEM_OP":
        label.fields["operations"] = operations(fields)
    for field in fields:
        found = _name(field)
        if found:
            name = found
        elif not (word == "BATCH_MEM_OP" and not _is_header(field)):
            _collect(field, label)
    return label._replace(name=name)


def _is_header(field: Any) -> bool:
    return "ID" in flatten(field)


def _name(field: Any) -> str:
    while isinstance(field, (list, tuple)) and len(field) == 1:
        field = field[0]
    if isinstance(field, (list, tuple)) and len(field) == 3 and field[0] == "ID":
        return field[2] if isinstance(field[2], str) else ""
    return ""


def _split_lines(lines: list[str]) -> Label:
    label = Label("", "", {}, [])
    word = name = ""
    counted: tuple[str, int] | None = None
    for number, line in enumerate(lines):
        if number == 0 and _ID.match(line):
            continue
        if body := _BODY.match(line):
            label.bodies.append(("", body[1]))
        elif match := _COUNTED.match(line):
            counted = (match[1], int(match[2]))
        elif match := _LINE_FIELD.match(line):
            label.fields[match[1].strip()] = match[2].strip()
        elif not word and line.isupper() and line.replace("_", "A").isalnum():
            word = line
        elif not name:
            name = line
    return label._replace(word=word, name=name, counted=counted)


@lru_cache(maxsize=8192)
def _short_record(text: str) -> tuple[Any, ...]:
    stack: list[list[Any]] = [[]]
    filled = False
    for part in _TOKEN.findall(text):
        if part == "{":
            stack.append([])
            filled = False
        elif part == "|":
            if not filled and len(stack) > 1:
                stack[-1].append("")
            filled = False
        elif part == "}":
            if not filled and len(stack) > 1:
                stack[-1].append("")
            if len(stack) > 1:
                done = tuple(stack.pop())
                stack[-1].append(done)
            filled = True
        else:
            value = (_ESCAPE.sub(r"\1", part) if "\\" in part else part).strip()
            if value:
                stack[-1].append(value)
                filled = True
    while len(stack) > 1:
        done = tuple(stack.pop())
        stack[-1].append(done)
    return tuple(stack[0])


def record(text: str) -> tuple[Any, ...]:
    r"""Parse part of a record label into nested tuples of text; unbalanced braces are closed.

    Examples
    --------
    >>> record("{{ID | a\\>} | {6}}")
    ((('ID', 'a>'), ('6',)),)
    """
    if len(text) > 2000:
        return _short_record.__wrapped__(text)
    return _short_record(text)


def flatten(field: Any) -> list[str]:
    """Return the texts of nested tuples in order."""
    texts: list[str] = []
    stack = [field]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            texts.append(item)
        else:
            stack.extend(reversed(item))
    return texts


def _collect(field: Any, label: Label) -> None:
    while isinstance(field, tuple) and len(field) == 1 and isinstance(field[0], tuple):
        field = field[0]
    if isinstance(field, str) or not field:
        return
    if all(_is_group(item) for item in field):
        label.fields.update((item[0], _group(item)) for item in field)
        return
    texts = [item for item in field if isinstance(item, str)]
    if texts[:1] == ["poolProps"]:
        _collect_pool(field, label)
        return
    if len(field) == 2 and len(texts) == 2:
        key, value = texts
        body = _BODY.match(value)
        if body:
            label.bodies.append((key, body[1]))
        else:
            label.fields[key] = value
        return
    if len(field) == 2 and not texts:
        names, values = flatten(field[0]), flatten(field[1])
        if len(names) == len(values):
            label.fields.update(zip(names, values, strict=True))
            return
    if len(field) == 3 and len(texts) == 1 and isinstance(field[0], str):
        names, values = flatten(field[1]), flatten(field[2])
        if len(names) == len(values):
            label.fields[field[0]] = dict(zip(names, values, strict=True))
            return
    if len(field) == 3 and not texts:
        heads, names, values = (flatten(item) for item in field)
        if len(names) == len(values) and heads and len(names) % len(heads) == 0:
            step = len(names) // len(heads)
            for place, head in enumerate(heads):
                part = slice(place * step, (place + 1) * step)
                label.fields[head] = dict(zip(names[part], values[part], strict=True))
            return
    label.fields.setdefault("other", []).append(flatten(field))


def _is_group(item: Any) -> bool:
    """Whether an item is ``(name, ((key, value), …))``."""
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], tuple)
        and all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in item[1]
        )
    )


def _group(item: Any) -> dict[str, str]:
    return {pair[0]: " ".join(flatten(pair[1])) for pair in item[1]}


def _collect_pool(field: Any, label: Label) -> None:
    """Read ``poolProps``: names, of which one group has a name itself, then values."""
    texts = [text for text in flatten(field)[1:] if text != "location"]
    half = len(texts) // 2
    label.fields.update(zip(texts[:half], texts[half:], strict=False))


def operations(fields: list[Any]) -> list[dict[str, str]]:
    """Return the operations of a batch-mem-op label, each as text by field name."""
    found: list[dict[str, str]] = []
    names: list[str] = []
    for field in fields:
        texts = [text for text in flatten(field) if text]
        if texts and texts[0].startswith("paramArray"):
            names = texts[1:]
        elif names and texts:
            found.append(dict(zip(names, texts, strict=False)))
            names = []
    return found


def unknown(fields: Fields, known: frozenset[str]) -> Extra:
    """Return the fields that a decoder did not use."""
    left = {name: value for name, value in fields.items() if name not in known}
    return {"dot": left} if left else {}
