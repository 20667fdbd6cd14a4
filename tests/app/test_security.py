"""Who may talk to the dashboard."""

from __future__ import annotations

import pytest

from graphviz_app import security
from graphviz_app.app import Settings, create_app
from graphviz_app.store import Store
from tests.helpers import synthetic


def app_for(**settings: object) -> object:
    store = Store([("run.cgl", synthetic.recording({"a": synthetic.chain(3)}))])
    return create_app(store, Settings(**settings)).server.test_client()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def client() -> object:
    return app_for()


PATHS = ("/", "/_dash-layout", "/_dash-dependencies", "/scene/run?graph=x", "/assets/canvas.css",
         "/export/run?format=cgl")  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8050", "127.0.0.1.evil.example", "localhost.evil.example",
     "127.0.0.1@evil.example", "evil.example#127.0.0.1", "localhost/evil", "[::2]", "",
     "192.168.1.7"],
)  # fmt: skip
def test_a_foreign_host_is_refused(client: object, path: str, host: str) -> None:
    """A rebound name reaches our port with its own name in the Host header."""
    answer = client.get(path, headers={"Host": host})  # type: ignore[attr-defined]
    assert answer.status_code == 403
    assert b"graph" not in answer.data


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:9", "LOCALHOST:8050", "127.0.0.1:65535", "[::1]:80", "localhost."],
)
def test_loopback_is_answered_on_any_port(client: object, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost.evil.example", "", "http://[", "file://"],
)
def test_a_foreign_origin_is_refused(client: object, origin: str) -> None:
    answer = client.post(  # type: ignore[attr-defined]
        "/_dash-update-component", json={}, headers={"Host": "localhost", "Origin": origin}
    )
    assert answer.status_code == 403


def test_our_own_origin_is_answered(client: object) -> None:
    answer = client.get(  # type: ignore[attr-defined]
        "/_dash-layout", headers={"Host": "localhost:1", "Origin": "http://localhost:2"}
    )
    assert answer.status_code == 200


def test_another_site_may_link_here_but_not_load_from_here(client: object) -> None:
    away = {"Host": "localhost", "Sec-Fetch-Site": "cross-site"}
    get = client.get  # type: ignore[attr-defined]
    assert get("/", headers={**away, "Sec-Fetch-Mode": "navigate"}).status_code == 200
    assert get("/_dash-layout", headers={**away, "Sec-Fetch-Mode": "no-cors"}).status_code == 403


def test_the_list_can_be_extended() -> None:
    client = app_for(allow_hosts=("box.example:8443", "OTHER.example"))
    for host in ("box.example", "box.example:1", "other.example:2", "localhost"):
        assert client.get("/", headers={"Host": host}).status_code == 200  # type: ignore[attr-defined]
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403  # type: ignore[attr-defined]


def test_listening_everywhere_names_no_host() -> None:
    assert security.allowed_hosts("0.0.0.0", ()) == frozenset(security.LOOPBACK)
    assert "10.0.0.5" in security.allowed_hosts("10.0.0.5", ())


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/nope", "/scene/run?graph=x"])
def test_every_answer_is_marked(client: object, path: str) -> None:
    headers = client.get(path, headers={"Host": "localhost"}).headers  # type: ignore[attr-defined]
    policy = headers["Content-Security-Policy"]
    script = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "'unsafe" not in script
    assert "'self'" in script
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_names_no_other_machine(client: object) -> None:
    page = client.get("/", headers={"Host": "localhost"}).get_data(as_text=True)  # type: ignore[attr-defined]
    for attribute in ('src="http', 'href="http', 'src="//', 'href="//'):
        assert attribute not in page


def test_the_page_is_not_for_frames(client: object) -> None:
    headers = client.get("/", headers={"Host": "localhost"}).headers  # type: ignore[attr-defined]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
