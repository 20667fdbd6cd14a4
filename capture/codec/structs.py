"""Structs of the model as documents; fields that a struct does not have are kept."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from ..errors import FormatError

Document = dict[str, Any]
T = TypeVar("T", bound=msgspec.Struct)


def dump(struct: msgspec.Struct) -> Document:
    """Turn a struct with an ``extra`` field into a document, unknown fields put back in place.

    Structs in its fields are treated alike.
    """
    return _flat(type(struct), msgspec.to_builtins(struct))


def load(type_: type[T], document: Any, where: str) -> T:
    """Turn a document into a struct; fields the struct does not have go into its ``extra``.

    Structs in its fields are treated alike.

    Raises
    ------
    FormatError
        A known field has a value of the wrong kind.
    """
    if not isinstance(document, dict):
        raise FormatError(f"{where} is a {type(document).__name__}, expected a map")
    try:
        return msgspec.convert(_sorted(type_, document), type_)
    except (msgspec.ValidationError, RecursionError) as error:
        raise FormatError(f"{where}: {error}") from error


@cache
def _nested(type_: type[msgspec.Struct]) -> list[tuple[str, Any, type[msgspec.Struct]]]:
    """Return fields that hold structs with an ``extra``: name, container or ``None``, struct."""
    found = []
    for name, hint in get_type_hints(type_).items():
        holder = get_origin(hint)
        for part in get_args(hint) or (hint,):
            is_struct = isinstance(part, type) and issubclass(part, msgspec.Struct)
            if is_struct and "extra" in part.__struct_fields__:
                found.append((name, holder if holder in (list, dict) else None, part))
    return found


def _flat(type_: type[msgspec.Struct], document: Document) -> Document:
    for name, holder, inner in _nested(type_):
        if name in document:
            document[name] = _each(document[name], holder, partial(_flat, inner))
    extra = document.pop("extra", None)
    return {**extra, **document} if extra else document


def _sorted(type_: type[msgspec.Struct], document: Document) -> Document:
    fields = type_.__struct_encode_fields__
    known = {name: document[name] for name in fields if name in document and name != "extra"}
    unknown = {name: value for name, value in document.items() if name not in known}
    for name, holder, inner in _nested(type_):
        if name in known:
            known[name] = _each(known[name], holder, partial(_sorted, inner))
    if unknown and "extra" in fields:
        known["extra"] = unknown
    return known


def _each(value: Any, holder: Any, function: Callable[[Document], Document]) -> Any:
    """Apply a function to the documents of structs; the conversion complains of what is none."""
    if holder is list and isinstance(value, list):
        return [function(item) if isinstance(item, dict) else item for item in value]
    if holder is dict and isinstance(value, dict):
        return {
            name: function(item) if isinstance(item, dict) else item for name, item in value.items()
        }
    return function(value) if isinstance(value, dict) else value


@contextmanager
def collection_paused() -> Iterator[None]:
    """Keep Python's cyclic garbage collector from running.

    Reading a graph makes hundreds of thousands of small objects and no cycles; collections on the
    way find nothing and take longer than the reading.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
