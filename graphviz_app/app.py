"""The Dash app: shell, pages, routes, and the checks around every request."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dash import Dash, html, set_props

from capture.errors import GraphLensError

from . import flow_route, marks_route, open_file, router, routes, security
from .components import shell
from .compression import compress
from .ids import Shell
from .measuring import Measurer, Workload
from .pages import pages
from .store import Store

LOG = logging.getLogger(__name__)
PACKAGE = Path(__file__).resolve().parent
TITLE = "CUDA Graph Lens"
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<meta name="color-scheme" content="light dark">
<title>{%title%}</title>
<link rel="icon" type="image/svg+xml" href="MARK">
{%css%}
<script src="THEME"></script>
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


@dataclass(frozen=True)
class Settings:
    """How the dashboard is served.

    Attributes
    ----------
    host : str
    port : int
        0 takes a free one.
    open_browser : bool
    allow_hosts : tuple of str
        Host names to answer to besides loopback and `host`.
    prefix : str
        Path under which a proxy serves the dashboard.
    """

    host: str = "127.0.0.1"
    port: int = 8050
    open_browser: bool = True
    allow_hosts: tuple[str, ...] = ()
    prefix: str = "/"
    workload: Workload | None = None
    """What this session may run again to measure it; only on loopback."""
    start: str = ""
    """Page and query to open first, such as ``compare?recording=a&after=b``."""

    @property
    def path_prefix(self) -> str:
        """The prefix with a slash at both ends."""
        inner = self.prefix.strip("/")
        return f"/{inner}/" if inner else "/"


def assets_folder() -> Path:
    """Return where styles and scripts are: in the installed package, or beside a checkout's."""
    installed = PACKAGE / "assets"
    return installed if installed.is_dir() else PACKAGE.parent / "assets"


def create_app(store: Store, settings: Settings | None = None) -> Dash:
    """Build the dashboard over some recordings.

    Parameters
    ----------
    store : Store
    settings : Settings, optional
        The default answers on loopback.

    Returns
    -------
    dash.Dash
        With every callback of its own, so that two apps can live in one process.
    """
    settings = settings or Settings()
    prefix = settings.path_prefix
    beside = store.get().path if store.opened else None
    if settings.workload is not None and beside is not None and security.is_loopback(settings.host):
        store.measurer = Measurer(store, settings.workload, beside)
    store.takes_files = security.is_loopback(settings.host) and not settings.allow_hosts
    app = Dash(
        __name__,
        assets_folder=str(assets_folder()),
        url_base_pathname=prefix,
        title=TITLE,
        # The canvases load their own modules: as tags they would be loaded and run twice.
        assets_ignore=r"^theme-early\.js$|\.mjs$",
        update_title="",
        serve_locally=True,
        add_log_handler=False,
        on_error=report_problem,
    )
    app.index_string = INDEX.replace("THEME", app.get_asset_url("shell/theme-early.js")).replace(
        "MARK", app.get_asset_url("shell/mark.svg")
    )
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)
    places = {page.name: page.place for page in pages().values()}
    app.layout = shell.layout(store, prefix, places)
    app.validation_layout = html.Div(  # type: ignore[assignment]
        [shell.layout(store, prefix, places), *[page.skeleton() for page in pages().values()]]
    )
    shell.register(app, store, prefix)
    router.register(app, store, prefix)
    for page in pages().values():
        page.register(app, store, prefix)
    routes.register(app.server, store, prefix)
    flow_route.register(app.server, store, prefix)
    marks_route.register(app.server, store, prefix)
    open_file.register(app.server, store, prefix)
    # after_request handlers run last to first: marks are made after compression.
    security.protect(
        app.server,
        security.allowed_hosts(settings.host, settings.allow_hosts),
        security.policy(app.csp_hashes()),
    )
    compress(app.server)
    return app


def report_problem(error: Exception) -> Any:
    """Show a failed callback as a sentence in the page; the unexpected also goes to the log."""
    if isinstance(error, GraphLensError):
        text = str(error)
    else:
        LOG.error("".join(traceback.format_exception(error)))
        text = (
            f"Something in the dashboard failed ({type(error).__name__}: {error}). "
            f"The terminal has the details."
        )
    set_props(Shell.PROBLEM, {"children": text})
