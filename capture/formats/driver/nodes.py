"""Labels of the driver's DOT to nodes: type, payload, and what has no place in it."""

from __future__ import annotations

import re
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

from ...model import Extra, Kernel
from ...nodes import node_types
from .labels import Label, split_label
from .payloads import DECODERS, PASSED_OVER, conditional, kernel, number

_KERNEL_LABEL = re.compile(
    r"\{KERNEL\n\| \{ID \| \d++(?: \(topoId: \d++\))?+ \| ((?:[^\\{}|\s]++|\\[<>{}])++)\}\n"
    r"(?:\| \{\{node handle \| func handle\} \| \{0x[0-9A-F]++ \| (0x[0-9A-F]++)\}\}\n)?+"
    r"((?!.*handle).*+)",
    re.DOTALL,
)


class DecodedNode(NamedTuple):
    """One node of a dump; ``label`` is taken apart, ``type`` empty when nothing shows it."""

    type: str
    payload: Any
    extra: Extra
    label: Label


class Decoder:
    """Turns labels into nodes; kernels of one name are one object."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}
        self._quick: dict[tuple[str | Any, ...], DecodedNode] = {}

    def node(self, text: str, shape: str, cut: bool) -> DecodedNode:
        """Decode one label.

        Parameters
        ----------
        text : str
            As it stands between the quotes.
        shape : str
            The DOT attribute; only kernels are octagons.
        cut : bool
            The text ends too early.
        """
        # Launches of one kernel differ in little but the node's number and address.
        match = None if cut else _KERNEL_LABEL.match(text)
        if match is None:
            return self._slow(text, shape, cut)
        key = match.groups()
        node = self._quick.get(key)
        if node is None:
            node = self._slow(text, shape, cut)
            if len(self._quick) < 10_000:
                self._quick[key] = node
            return node
        return node._replace(payload=copy(node.payload), extra=dict(node.extra))

    def _slow(self, text: str, shape: str, cut: bool) -> DecodedNode:
        label = split_label(text, cut)
        type_ = type_name(label, shape)
        value, extra = payload(type_ or "unknown", label, self)
        return DecodedNode(type_, value, extra, label)

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of a name."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = Kernel(name=name)
        return kernel


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    words = {entry.name.upper(): entry.name for entry in node_types().values()}
    for entry in node_types().values():
        words.update(dict.fromkeys(entry.dot_names, entry.name))
    return words


def type_name(label: Label, shape: str) -> str:
    """Return the node type that a label shows; empty when it shows none.

    A word that no node type has becomes a type of that name.
    """
    if label.word:
        return _words().get(label.word) or label.word.lower()
    if "Type" in label.fields:
        return "conditional"
    if label.bodies:
        return "child_graph"
    if label.name:
        return "kernel" if shape == "octagon" else _words().get(label.name.upper(), "kernel")
    return ""


def payload(type_: str, label: Label, decoder: Decoder) -> tuple[Any, Extra]:
    """Return a node's payload, as far as it is printed, and the fields that it has no place for.

    A type without a decoder here gets its fields as they are printed.
    """
    fields = label.fields
    if type_ == "kernel":
        value, used = kernel(label, decoder.kernel)
    elif type_ == "conditional":
        value, used = conditional(label)
    else:
        fields_of = DECODERS.get(type_)
        if fields_of is None:
            known = {k: v for k, v in fields.items() if k not in PASSED_OVER}
            return (
                (None, {"dot": known} if known else {})
                if type_ in node_types()
                else (
                    known,
                    {},
                )
            )
        value, used = fields_of(fields)
    extra: Extra = {}
    if label.counted is not None:
        what, size_bytes = label.counted
        extra["size_bytes"] = size_bytes
        if type_ == "memcpy":
            value.kind = what
        elif type_ == "memset":
            value.value = number(what)
    left = {k: v for k, v in fields.items() if k not in used and k not in PASSED_OVER}
    if left:
        extra["dot"] = left
    return value, extra
