"""The description of the routes: complete, as the routes are, and true."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from omnigraph.server import bodies
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.description import answers
from omnigraph.server.description.describe import EXAMPLES, STATUSES
from omnigraph.server.identity import Tokens
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.errors import STATUS


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return create_app(ServerConfig({"people": "nowhere"}, Tokens((("ada", b"x"),))))


@pytest.fixture(scope="module")
def described(app: Any) -> dict[str, Any]:
    found: dict[str, Any] = app.openapi()
    return found


def operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, op) for path, ops in described["paths"].items() for method, op in ops.items()]


def test_every_route_is_described_and_nothing_else(app: Any, described: dict[str, Any]) -> None:
    routers = [importlib.import_module(f"omnigraph.server.routes.{name.stem}") for name in _route_files()]
    served = {
        (prefix + route.path.replace(":path", ""), method.lower())
        for module in routers
        for prefix in ["" if module.router.prefix or "server" in module.router.tags else "/graphs/{graph}"]
        for route in module.router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods
    }
    told = {(path, method) for path, method, _ in operations(described)}
    assert served - told == set()
    assert {item for item in told - served if item[0].startswith(("/graphs/{graph}", "/lance"))} == set()


def test_the_first_word_after_a_graph_never_varies_so_that_routes_are_found_by_it() -> None:
    routers = [
        importlib.import_module(f"omnigraph.server.routes.{name.stem}").router for name in _route_files()
    ]
    words = {word for router in routers if isinstance(router, GraphRouter) for word in router._find_words()}
    assert {"", "query", "mutate", "branches", "blob", "jobs", "proposals"} <= words
    assert not {word for word in words if "{" in word}


def _route_files() -> list[Path]:
    folder = Path(bodies.__file__).parent / "routes"
    return [path for path in folder.glob("*.py") if path.stem != "__init__"]


def test_operations_have_names_of_their_own_words_and_errors_in_our_shape(described: dict[str, Any]) -> None:
    names = [op["operationId"] for _, _, op in operations(described)]
    assert len(names) == len(set(names))
    for path, method, op in operations(described):
        assert op["description"], path
        assert "422" not in op["responses"], path
        if path in ("/healthz", "/readyz"):
            assert "security" not in op
            continue
        assert op["security"] == [{"token": []}], path
        for status in STATUSES:
            content = op["responses"][str(status)].get("content")
            assert method == "head" or content is not None, path


def test_every_answer_has_a_shape(described: dict[str, Any]) -> None:
    for path, method, op in operations(described):
        for status, answer in op["responses"].items():
            if method == "head" or status in ("204", "304") or not status.startswith("2"):
                continue
            assert answer["content"], path
            for form in answer["content"].values():
                assert form["schema"], path
    names = {op["operationId"] for _, _, op in operations(described)}
    assert {*answers.IN_JSON, *answers.OTHERWISE} <= names


def test_every_status_of_an_error_is_described(described: dict[str, Any]) -> None:
    assert set(STATUS.values()) <= set(STATUSES)
    assert set(described["components"]["schemas"]["Error"]["properties"]["code"]["enum"]) >= set(STATUS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_a_body_is_one(name: str) -> None:
    getattr(bodies, name).model_validate(EXAMPLES[name])


def test_every_body_has_an_example(described: dict[str, Any]) -> None:
    lacking = {
        name
        for name, schema in described["components"]["schemas"].items()
        if name.endswith("Body") and "example" not in schema
    }
    assert lacking == set()


def test_an_open_server_asks_for_no_token() -> None:
    found = create_app(ServerConfig({"people": "nowhere"})).openapi()
    assert "securitySchemes" not in found["components"]
    assert all("security" not in op for _, _, op in operations(found))
