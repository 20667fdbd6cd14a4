"""The one mechanism behind every extension point: modules of a package, plus entry points.

A package such as ``capture.formats`` holds one module per entry; each such module has one
attribute of an agreed name (``FORMAT``). Other distributions add entries through the entry-point
group of the same name (``cudagraph_lens.formats``).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from .errors import ExtensionError


def discover(
    package: str, attribute: str, kind: type | tuple[type, ...] = object, group: str = ""
) -> dict[str, Any]:
    """Collect the entries of one extension point, by name.

    Parameters
    ----------
    package : str
        Full name of the package that holds one module per entry.
    attribute : str
        The attribute each entry module defines, such as ``"FORMAT"``. Modules without it are
        helpers of the package and are passed over.
    kind : type or tuple of types
        What the attribute has to be.
    group : str, optional
        Entry-point group in which other distributions register entries.

    Returns
    -------
    dict of str to Any
        Entries keyed by their ``name`` attribute, those of the package in module order first.

    Raises
    ------
    ExtensionError
        An entry is not of `kind`, or two entries have one name.
    """
    found: dict[str, Any] = {}
    home = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(home.__path__), key=lambda item: item.name):
        module = importlib.import_module(f"{package}.{info.name}")
        entry = getattr(module, attribute, None)
        if entry is not None:
            _add(found, entry, kind, f"{package}.{info.name}:{attribute}")
    if group:
        from importlib.metadata import entry_points

        for point in entry_points(group=group):
            try:
                entry = point.load()
            except Exception as error:
                raise ExtensionError(
                    f"entry point {point.value!r} of group {group!r} does not load: {error}; "
                    f"uninstall or repair the distribution that declares it"
                ) from error
            _add(found, entry, kind, point.value)
    return found


def _add(found: dict[str, Any], entry: Any, kind: type | tuple[type, ...], where: str) -> None:
    if not isinstance(entry, kind):
        wanted = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise ExtensionError(f"{where} is a {type(entry).__name__}, expected a {wanted}")
    name = getattr(entry, "name", None)
    if not isinstance(name, str) or not name:
        raise ExtensionError(f"{where} has no name: an entry needs a non-empty text `name`")
    if name in found:
        raise ExtensionError(f"{where} is called {name!r}, and another entry has that name already")
    found[name] = entry
