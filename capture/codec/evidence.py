"""Evidence as documents, columns packed, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..columns import MAX_CELLS, pack, unpack
from ..errors import FormatError, TooLargeError
from ..evidence import StoredKind
from .structs import Document, collection_paused, dump, load


def encode_evidence(kind: StoredKind, item: msgspec.Struct) -> Document:
    """Turn an item of evidence into a document: columns of one length packed, the rest as it is.

    Packed columns stand in ``columns``, with their length in ``rows``.
    """
    document = dump(item)
    for columns, lengths in kind.lengths(item):
        part = document.get(columns.part) if columns.part else document
        if part is None:
            continue
        packed = {name: pack(part.pop(name)) for name in columns.names if name in part}
        part["rows"] = max(lengths.values(), default=0)
        part["columns"] = packed
    return document


def decode_evidence(kind: StoredKind, document: Any, where: str) -> Any:
    """Turn a document back into an item of evidence, its columns packed or not, and check it.

    Raises
    ------
    FormatError
        It has not the expected form, or contradicts itself.
    """
    if not isinstance(document, dict):
        raise FormatError(f"{where} is a {type(document).__name__}, expected a map")
    with collection_paused():
        for columns in kind.columns:
            if not columns.part:
                document = _unpacked(document, where)
            elif isinstance(document.get(columns.part), dict):
                here = f"{where}.{columns.part}"
                document = {**document, columns.part: _unpacked(document[columns.part], here)}
        item = load(kind.struct, document, where)
        kind.validate(item, where)
    return item


def _unpacked(document: Mapping[str, Any], where: str) -> Document:
    if "columns" not in document and "rows" not in document:
        return dict(document)
    rows, columns = document.get("rows"), document.get("columns", {})
    if type(rows) is not int or rows < 0:
        raise FormatError(f"{where} has no number of rows")
    if not isinstance(columns, dict):
        raise FormatError(f"{where}.columns is a {type(columns).__name__}, expected a map")
    if rows * len(columns) > MAX_CELLS:
        raise TooLargeError(
            f"{where} claims {rows} rows of {len(columns)} columns; at most {MAX_CELLS} values "
            f"are read"
        )
    rest = {name: value for name, value in document.items() if name not in ("rows", "columns")}
    values = {name: unpack(column, rows, f"{where}.{name}") for name, column in columns.items()}
    return {**rest, **values}
