"""The routes of the page: who may see it, how it is cached, what a browser is told."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens


@pytest.fixture(scope="module")
def client() -> TestClient:
    """A client that has no token; the graph is never opened, and the page does not ask for it."""
    return TestClient(create_app(ServerConfig({"people": "/nowhere"}, Tokens((("ada", b"x" * 32),)))))


def asset_of(client: TestClient) -> str:
    found = re.search(r'src="(/assets/[^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", ["/", "/ui", "/ui/people/query?q=x", "/ui/people/entity"])
def test_every_place_of_the_page_is_the_page_without_a_token(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert '<div id="root">' in answer.text
    assert answer.headers["cache-control"] == "no-cache"


def test_a_browser_is_told_to_run_nothing_but_the_files_of_the_page(client: TestClient) -> None:
    for path in ("/", asset_of(client)):
        headers = client.get(path).headers
        rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
        assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_files_that_change_their_names_are_kept_for_ever_and_sent_compressed(client: TestClient) -> None:
    path = asset_of(client)
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "immutable" in plain.headers["cache-control"]
    assert plain.headers["content-type"].startswith("text/javascript")
    assert "content-encoding" not in plain.headers
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(gzip.compress(plain.content, mtime=0))
    assert packed.content == plain.content
    again = client.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/assets/none.js", "/assets/..%2findex.html", "/assets/%2e%2e/index.html", "/other"]
)
def test_what_is_not_part_of_the_page_is_not_found_in_the_one_shape(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_every_file_that_the_page_names_is_there(client: TestClient) -> None:
    root = Path(__file__).resolve().parents[3] / "src/omnigraph/server/page/files"
    named = re.findall(r'(?:src|href)="(/[^"]+)"', client.get("/").text)
    assert len(named) > 3
    for path in named:
        assert client.get(path).content == (root / path.lstrip("/")).read_bytes()
