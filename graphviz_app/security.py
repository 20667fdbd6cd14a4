"""What keeps other sites and other machines out of a dashboard on loopback.

A page of another site can make the browser send requests here, and with DNS rebinding even read
the answers. So each request has to name a host we know, and its origin, where it has one, has to
be such a host too. Ports are not compared: a tunnel or a proxy changes them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from flask import Flask, Response, request

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, never bound to
"""Addresses that mean every interface; as a Host they name nothing."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.5"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(value: str) -> str:
    """Return the name in a Host header, without port, in lower case; ``""`` if it is none.

    Examples
    --------
    >>> host_name("LocalHost:8050"), host_name("[::1]:8050"), host_name("a@b")
    ('localhost', '::1', '')
    """
    try:
        parts = urlsplit(f"//{value}")
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return ""
        return (parts.hostname or "").rstrip(".")
    except ValueError:
        return ""


def allowed_hosts(host: str, extra: Iterable[str]) -> frozenset[str]:
    """Return the names under which the dashboard answers.

    Parameters
    ----------
    host : str
        The address it listens on.
    extra : iterable of str
        Names the user added.
    """
    names = {*LOOPBACK, *(host_name(name) or name.lower() for name in extra)}
    if host not in ANY:
        names.add(host.lower())
    return frozenset(names)


def refusal(host: str, origin: str | None, site: str | None, allowed: frozenset[str]) -> str:
    """Return why a request is refused, or ``""``.

    Parameters
    ----------
    host : str
        The Host header.
    origin : str or None
        The Origin header; ``"null"`` is a sandboxed page or a file, and is refused.
    site : str or None
        The Sec-Fetch-Site header. ``cross-site`` is fine only for following a link, which the
        caller passes as ``None``.
    allowed : frozenset of str
    """
    name = host_name(host)
    if name not in allowed:
        return (
            f"the dashboard does not answer to the host {name or host!r}. If you reach it through "
            f"a tunnel or a proxy, start it with --allow-host {name or 'NAME'}"
        )
    if origin is not None:
        try:
            sender = (urlsplit(origin).hostname or "").rstrip(".")
        except ValueError:
            sender = ""
        if sender not in allowed:
            return f"a page of {origin!r} may not use the dashboard"
    if site == "cross-site":
        return "a page of another site may not use the dashboard"
    return ""


def protect(server: Flask, allowed: frozenset[str], csp: str) -> None:
    """Check every request of a Flask server and mark every answer.

    Parameters
    ----------
    server : Flask
    allowed : frozenset of str
        See :func:`allowed_hosts`.
    csp : str
        Content-security policy.
    """

    @server.before_request
    def check() -> Response | None:
        navigating = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        reason = refusal(
            request.headers.get("Host", ""),
            request.headers.get("Origin"),
            None if navigating else request.headers.get("Sec-Fetch-Site"),
            allowed,
        )
        if reason:
            return Response(f"Refused: {reason}.\n", 403, mimetype="text/plain")
        return None

    @server.after_request
    def mark(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = csp
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response


def policy(hashes: Iterable[str]) -> str:
    """Return the content-security policy.

    Parameters
    ----------
    hashes : iterable of str
        Of Dash's own inline scripts, from ``app.csp_hashes()``.

    Notes
    -----
    Styles may be inline because mantine and plotly write them; scripts may not.
    """
    scripts = " ".join(["'self'", *hashes])
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )
