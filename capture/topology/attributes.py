"""Payloads as attributes that are texts, integers, floats or bools, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec

from ..errors import InvalidGraphError
from ..model import Kernel
from ..nodes import node_type

_ESCAPE = "json:"
_OWN = {"position", "type", "name", "payload", "unread", "bodies", "extra"}


def node_attributes(type_: str, payload: Any, texts: dict[int, str]) -> dict[str, Any]:
    """Write one node; `texts` keeps the text of each kernel, by identity, between nodes."""
    entry = node_type(type_)
    attributes: dict[str, Any] = {"type": text(type_)}
    known = entry.payload is not None and isinstance(payload, entry.payload)
    attributes["name"] = text(entry.label(payload if known else None))
    if payload is None:
        if entry.payload is not None:
            attributes["unread"] = True
    elif not known:
        attributes["payload"] = json.dumps(msgspec.to_builtins(payload))
    else:
        for field in payload.__struct_fields__:
            value = getattr(payload, field)
            if value is None:
                continue
            if isinstance(value, Kernel):
                # Kernels are shared by many nodes: each is written once.
                document = texts.get(id(value))
                if document is None:
                    document = texts[id(value)] = json.dumps(msgspec.to_builtins(value))
                attributes[field] = document
            elif isinstance(value, bytes):
                attributes[field] = f"0x{value.hex()}"
            elif isinstance(value, str):
                if value:
                    attributes[field] = text(value)
            elif isinstance(value, bool | int | float):
                attributes[field] = value
            elif value or isinstance(value, msgspec.Struct):
                attributes[field] = json.dumps(msgspec.to_builtins(value))
    return attributes


def text(value: str) -> str:
    """Escape a text that XML or GML would not give back as it was."""
    if value.isprintable() and not value.startswith(_ESCAPE) and value not in ("[]", "()"):
        return value
    return _ESCAPE + json.dumps(value)


def plain(value: Any) -> Any:
    """Undo :func:`text`."""
    if isinstance(value, str) and value.startswith(_ESCAPE):
        return json.loads(value[len(_ESCAPE) :])
    return value


@lru_cache(maxsize=64)
def _nested_fields(payload: type[msgspec.Struct]) -> frozenset[str]:
    """Return the fields whose value is written as JSON text."""
    hints = get_type_hints(payload)
    plain = {str, int, float, bool, int | None, float | None, bool | None, bytes | None}
    return frozenset(name for name, hint in hints.items() if hint not in plain)


def read_payload(
    type_: str, attributes: Mapping[str, Any], kernels: dict[str, Kernel], name: Any
) -> Any:
    """Read the payload of one node; `kernels` keeps kernels by their text, so that they are shared.

    Raises
    ------
    InvalidGraphError
        An attribute does not fit the node's type.
    """
    entry = node_type(type_)
    document: dict[str, Any] = {}
    kernel: Kernel | None = None
    try:
        if "payload" in attributes:
            return json.loads(attributes["payload"])
        if entry.payload is None or attributes.get("unread"):
            return None
        nested = _nested_fields(entry.payload)
        for field in entry.payload.__struct_fields__:
            # "name" and the like are ours on every node, whatever a payload calls its fields.
            value = None if field in _OWN else attributes.get(field)
            if value is None:
                continue
            if field == "kernel":
                kernel = kernels.get(value)
                if kernel is None:
                    kernel = kernels[value] = msgspec.convert(json.loads(value), Kernel)
            elif field in nested:
                document[field] = json.loads(value)
            elif isinstance(value, str) and field == "arguments":
                document[field] = bytes.fromhex(value.removeprefix("0x"))
            else:
                document[field] = plain(value)
        payload = msgspec.convert(document, entry.payload, strict=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidGraphError(f"node {name!r} is no {type_}: {error}") from error
    if kernel is not None:
        payload.kernel = kernel  # type: ignore[attr-defined]
    return payload
