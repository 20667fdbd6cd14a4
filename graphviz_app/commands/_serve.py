"""What commands that open the dashboard share: their options and the start of the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def server_options(function: Decorated) -> Decorated:
    """Add ``--host``, ``--port``, ``--no-browser``, ``--allow-host`` and ``--prefix``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS: list[Callable[[Any], Any]] = [
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


def run_dashboard(files: Sequence[Path], **options: Any) -> None:
    """Open files and serve the dashboard until interrupted.

    Parameters
    ----------
    files : sequence of Path
    **options
        The values of :func:`server_options`.

    Raises
    ------
    GraphLensError
        A file cannot be read, or the address cannot be listened on.
    """
    from ..app import Settings, create_app
    from ..server import serve
    from ..store import Store

    settings = Settings(
        host=options["host"],
        port=options["port"],
        open_browser=not options["no_browser"],
        allow_hosts=tuple(options["allow_hosts"]),
        prefix=options["prefix"],
    )
    store = Store.open(files)
    serve(create_app(store, settings), settings)
