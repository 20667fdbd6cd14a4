"""Serving the dashboard with waitress, from one process."""

from __future__ import annotations

import logging
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import click

from capture.errors import GraphLensError

from .security import ANY, is_loopback

if TYPE_CHECKING:
    from dash import Dash

    from .app import Settings

THREADS = 8


class AddressError(GraphLensError):
    """The address cannot be listened on."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises
    ------
    AddressError
        The port is in use or not allowed, or the host is no address of this machine.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise AddressError(
            f"{host!r} is no address of this machine ({error.strerror}); "
            f"leave --host out to listen on 127.0.0.1"
        ) from error
    listener = socket.socket(family, kind, proto)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise AddressError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port N, "
            f"or take a free one with --port 0"
        ) from error
    return listener


def address(listener: socket.socket, host: str, prefix: str) -> str:
    """Return the address a browser on this machine opens."""
    port = listener.getsockname()[1]
    name = host
    if host in ANY:
        name = "127.0.0.1"
    elif ":" in host:
        name = f"[{host}]"
    return f"http://{name}:{port}{prefix}"


def serve(app: Dash, settings: Settings) -> None:
    """Serve an app until interrupted, after printing its address.

    Raises
    ------
    AddressError
        The address cannot be listened on.
    """
    import waitress

    # Its warning that requests wait a moment means nothing to a single user.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    listener = bind(settings.host, settings.port)
    url = address(listener, settings.host, settings.path_prefix) + settings.start
    if not is_loopback(settings.host):
        click.echo(
            f"warning: listening on {settings.host}, so others on the network can open these "
            f"recordings; there is no password",
            err=True,
        )
    click.echo(f"CUDA Graph Lens is at {url}  (Ctrl+C stops it)")
    if settings.open_browser:
        threading.Thread(target=_open, args=(url,), daemon=True).start()
    server = waitress.create_server(
        app.server,
        sockets=[listener],
        threads=THREADS,
        ident="cglens",
        channel_timeout=300,
    )
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
        listener.close()


def _open(url: str) -> None:
    try:
        opened = webbrowser.open(url)
    except webbrowser.Error:
        opened = False
    if not opened:
        click.echo(f"no browser was found; open {url} yourself", err=True)
