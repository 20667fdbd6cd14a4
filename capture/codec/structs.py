"""Structs of the model as documents; fields that a struct does not have are kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from ..errors import FormatError

Document = dict[str, Any]
T = TypeVar("T", bound=msgspec.Struct)


def dump(struct: msgspec.Struct) -> Document:
    """Turn a struct with an ``extra`` field into a document, unknown fields put back in place."""
    document: Document = msgspec.to_builtins(struct)
    extra = document.pop("extra", None)
    if extra:
        document = {**extra, **document}
    return document


def load(type_: type[T], document: Any, where: str) -> T:
    """Turn a document into a struct; fields the struct does not have go into its ``extra``.

    Raises
    ------
    FormatError
        A known field has a value of the wrong kind.
    """
    if not isinstance(document, dict):
        raise FormatError(f"{where} is a {type(document).__name__}, expected a map")
    fields = type_.__struct_encode_fields__
    known = {name: document[name] for name in fields if name in document and name != "extra"}
    unknown = {name: value for name, value in document.items() if name not in known}
    if unknown and "extra" in fields:
        known["extra"] = unknown
    try:
        return msgspec.convert(known, type_)
    except (msgspec.ValidationError, RecursionError) as error:
        raise FormatError(f"{where}: {error}") from error


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
