"""What commands that open the dashboard share: their options and the start of the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ._options import Decorated, Option, with_options

if TYPE_CHECKING:
    from ..measuring import Workload
    from ..state import ViewState
    from ..store import Store


def server_options(function: Decorated) -> Decorated:
    """Add ``--host``, ``--port``, ``--no-browser``, ``--allow-host`` and ``--prefix``."""
    return with_options(function, _OPTIONS)


_OPTIONS: list[Option] = [
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Address to listen on. Anything but loopback lets others on the network look.",
    ),
    click.option(
        "--port",
        default=8050,
        show_default=True,
        type=click.IntRange(0, 65535),
        help="Port to listen on; 0 takes a free one and prints the address.",
    ),
    click.option("--no-browser", is_flag=True, help="Print the address, open nothing."),
    click.option(
        "--allow-host",
        "allow_hosts",
        multiple=True,
        metavar="NAME",
        help="Host name under which the dashboard may be reached, such as a tunnel's or a proxy's. "
        "Repeat for several.",
    ),
    click.option(
        "--prefix",
        default="/",
        metavar="PATH",
        help="Path under which a proxy serves the dashboard, such as /lens/.",
    ),
]


def source_option(function: Decorated) -> Decorated:
    """Add ``--sources``, for commands that open recordings which may come from elsewhere."""
    return cast(Decorated, _SOURCES(function))


_SOURCES: Callable[[Any], Any] = click.option(
    "--sources",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder whose Python files the source page may show, where a recording names them and "
    "does not hold them. Repeat for several.",
)


def run_dashboard(
    files: Sequence[Path],
    *,
    recorded_in: Sequence[Path] = (),
    workload: Workload | None = None,
    start: Callable[[Store], ViewState] | None = None,
    **options: Any,
) -> None:
    """Open files and serve the dashboard until interrupted.

    Parameters
    ----------
    files : sequence of Path
    recorded_in : sequence of Path
        Folders of a workload that was recorded just now: its sources may be shown too, unless
        other machines can look.
    workload : Workload, optional
        The user's own command of this session, which the dashboard may run again to measure it.
    start : callable, optional
        Returns the view to open first; the overview of the first file if not given.
    **options
        The values of :func:`server_options` and :func:`source_option`.

    Raises
    ------
    GraphLensError
        A file cannot be read, or the address cannot be listened on.
    """
    from ..app import Settings, create_app
    from ..security import is_loopback
    from ..server import serve
    from ..source_access import EDITOR, SourceAccess
    from ..state import to_url
    from ..store import Store

    settings = Settings(
        host=options["host"],
        port=options["port"],
        open_browser=not options["no_browser"],
        allow_hosts=tuple(options["allow_hosts"]),
        prefix=options["prefix"],
        workload=workload,
    )
    roots = list(options.get("sources", ()))
    if is_loopback(settings.host):
        roots += [folder for folder in recorded_in if folder.is_dir()]
    sources = SourceAccess(roots, os.environ.get(EDITOR, ""))
    store = Store.open(files, sources)
    if start is not None:
        settings = replace(settings, start=to_url(start(store)).removeprefix("/"))
    try:
        serve(create_app(store, settings), settings)
    finally:
        if store.measurer is not None:
            store.measurer.close()
