"""Whom the REST side answers, and under which names."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

PAGE = "https://app.example.com"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x"}
BODY = {"instances": ["the red dog"]}


@pytest.fixture(scope="module")
def plain(exported: Any, start_shared: Callable[..., Any]) -> Any:
    """A server with the defaults."""
    return start_shared(exported.path)


@pytest.fixture(scope="module")
def guarded(
    exported: Any, start_shared: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A server behind a proxy, for a page, and for clients with a key."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text("first\n\n  second \r\n")
    keys.chmod(0o600)
    return start_shared(
        exported.path,
        allowed_hosts=("api.example.com", "*.Example.org", "127.0.0.1"),
        cors_origin=(PAGE, "http://localhost:3000"),
        root_path="/mt/",
        forwarded_allow_ips=("127.0.0.0/8",),
        api_key_file=keys,
    )


def get(server: Any, path: str, host: str | None = None, **headers: str) -> requests.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if host is not None:
        named["Host"] = host
    url = server.rest_url + path
    return requests.get(url, headers=named, timeout=60, allow_redirects=False)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8501", 200),
        ("localhost.", 200),
        ("demo.localhost:1", 200),
        ("127.0.0.1:8501", 200),
        ("[::1]:8501", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil.example:8501", 403),
        ("[::2]", 403),
        ("", 403),
    ],
)
def test_on_the_loopback_interface_other_hosts_are_refused(plain, host, status) -> None:
    assert get(plain, "/v1/models/demo", host).status_code == status
    # Probes ask by an address.
    assert get(plain, "/readyz", host).status_code == 200


def test_a_refused_host_is_named_and_no_proxys_header_helps(plain, guarded) -> None:
    found = get(plain, "/", "evil.example", X_Forwarded_Host="localhost")
    assert "host 'evil.example' is not allowed" in found.json()["error"]
    assert "--allowed-hosts" in found.json()["error"]
    host = {"X_Forwarded_Host": "api.example.com", "Authorization": "Bearer first"}
    assert get(guarded, "/v1/models/demo", "evil.example", **host).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [("api.example.com", 200), ("a.b.example.org:80", 200), ("example.org", 403), ("x", 403)],
)
def test_hosts_that_are_allowed(guarded, host, status) -> None:
    found = get(guarded, "/v1/models/demo", host, Authorization="Bearer first")
    assert found.status_code == status


def test_bound_to_all_interfaces_any_host_is_right(exported, start) -> None:
    server = start(exported.path, host="0.0.0.0")  # noqa: S104
    assert get(server, "/v1/models/demo", "api.example.com").status_code == 200


def test_pages_of_other_origins_may_not_ask_unless_they_are_named(plain, guarded) -> None:
    assert (
        requests.options(plain.model_url, headers={"Origin": PAGE}, timeout=60).status_code == 405
    )
    assert "access-control-allow-origin" not in get(plain, "/", Origin=PAGE).headers
    url = guarded.model_url + ":predict"
    found = requests.options(url, headers={"Origin": PAGE, **PREFLIGHT}, timeout=60)
    assert found.status_code == 204
    assert found.headers["access-control-allow-origin"] == PAGE
    assert found.headers["vary"] == "origin"
    assert "POST" in found.headers["access-control-allow-methods"]
    allowed = found.headers["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "content-type", "x-request-timeout"} <= set(allowed)
    headers = {"Origin": PAGE, "Authorization": "Bearer second"}
    found = requests.post(url, json=BODY, headers=headers, timeout=60)
    assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, PAGE)
    # A refusal can be read, too.
    found = requests.post(url, json=BODY, headers={"Origin": PAGE}, timeout=60)
    assert (found.status_code, found.headers["access-control-allow-origin"]) == (401, PAGE)
    other = {"Origin": PAGE + ".evil.example"}
    found = requests.options(url, headers={**other, **PREFLIGHT}, timeout=60)
    assert found.status_code == 403 and "access-control-allow-origin" not in found.headers
    found = requests.get(guarded.rest_url, headers=other, timeout=60)
    assert found.headers["vary"] == "origin"
    assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/mt/readyz", 200),
        ("/", 200),
        ("/page/page.js", 200),
        ("/metrics", 401),
        ("/openapi.json", 401),
        ("/v1/models/demo", 401),
        ("/v1/models/demo/metadata", 401),
        ("/nowhere", 401),
        ("//healthz", 401),
        ("/page/../metrics", 404),
    ],
)
def test_without_a_key_health_and_the_page_alone_are_open(guarded, path, status) -> None:
    with requests.Session() as session:
        request = requests.Request("GET", guarded.rest_url).prepare()
        request.url = guarded.rest_url + path
        found = session.send(request, timeout=60)
    assert found.status_code == status
    if status == 401:
        assert found.headers["www-authenticate"] == "Bearer"
        assert "an API key is needed" in found.json()["error"]


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("Bearer first", 200),
        ("bearer  second", 200),
        ("Bearer third", 401),
        ("Bearer firs", 401),
        ("Bearer ", 401),
        ("Basic first", 401),
        ("first", 401),
        ("Bearer first second", 401),
        ("Bearer caf\xe9", 401),
    ],
)
def test_a_key_is_one_of_the_files(guarded, value, status) -> None:
    headers = {"Authorization": value.encode("latin-1")}
    found = requests.post(guarded.model_url + ":predict", json=BODY, headers=headers, timeout=60)
    assert found.status_code == status


def test_a_changed_file_of_keys_is_read_again_and_a_broken_one_is_not(
    exported, start, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("keras_transformer.serving.api_keys._LOOK_SECONDS", 0.0)
    keys = tmp_path / "keys"
    keys.write_text("old")
    server = start(exported.path, api_key_file=keys)

    def status(key: str) -> int:
        return get(server, "/v1/models/demo", Authorization=f"Bearer {key}").status_code

    assert (status("old"), status("new")) == (200, 401)
    (tmp_path / "next").write_text("new")
    os.replace(tmp_path / "next", keys)
    assert (status("old"), status("new")) == (401, 200)
    keys.write_text("")
    assert status("new") == 200
    keys.unlink()
    assert status("new") == 200


def test_below_a_prefix_everything_is_found_with_and_without_it(guarded) -> None:
    key = {"Authorization": "Bearer first"}
    for path in ("/v1/models/demo", "/mt/v1/models/demo"):
        assert get(guarded, path, **key).json()["model_version_status"]
        found = requests.post(
            f"{guarded.rest_url}{path}:predict", json=BODY, headers=key, timeout=60
        )
        assert found.status_code == 200
    for path in ("/", "/mt", "/mt/"):
        assert '<base href="/mt/" />' in get(guarded, path).text
    assert get(guarded, "/openapi.json", **key).json()["servers"] == [{"url": "/mt"}]


def test_redirects_go_where_the_client_came_from(plain, guarded) -> None:
    forwarded = {
        "X_Forwarded_Proto": "https",
        "X_Forwarded_Host": "mt.example.com, inner",
        "Authorization": "Bearer first",
    }
    path = "/v1/models/demo/metadata/"
    found = get(guarded, path, **forwarded)
    assert found.status_code == 307
    assert found.headers["location"] == "https://mt.example.com/mt/v1/models/demo/metadata"
    found = get(guarded, path, X_Forwarded_Prefix="/other/", **forwarded)
    assert found.headers["location"] == "https://mt.example.com/other/v1/models/demo/metadata"
    odd = {**forwarded, "X_Forwarded_Host": "a b/<script>", "X_Forwarded_Prefix": '/"><script>'}
    found = get(guarded, path, "api.example.com", **odd)
    assert found.headers["location"] == "https://api.example.com/mt/v1/models/demo/metadata"
    # Nobody is a proxy unless the server is told so.
    found = get(plain, path, "localhost", **forwarded)
    assert found.headers["location"] == "http://localhost/v1/models/demo/metadata"
    assert get(plain, "/openapi.json").json()["servers"] == [{"url": "/"}]
