"""Answers held against the description of the routes: of a status, a form and a shape that it names."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from omnigraph.sdk.remote.requests.connections import Answer, Connections
from omnigraph.server.app import ServerConfig, create_app

_JSON = "application/json"
_PLACE = re.compile(r"\{(\w+)\}")


def _match_place(found: re.Match[str]) -> str:
    return "[^/]+" if found[1] == "graph" else ".+"


class DescribedAnswers:
    """What the description says of answers; members that it does not name are wrong."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, int]] = Counter()
        """How many answers of an operation and status have been looked at."""
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}

    @cached_property
    def _described(self) -> dict[str, Any]:
        found: dict[str, Any] = create_app(ServerConfig({"people": "nowhere"})).openapi()
        for schema in found["components"]["schemas"].values():
            if "properties" in schema and not schema["properties"].keys() & {"error"}:
                schema["additionalProperties"] = False
        return found

    @cached_property
    def _paths(self) -> list[tuple[re.Pattern[str], str]]:
        """Paths as patterns: those that say most first, as names of branches may have slashes."""
        templates = sorted(self._described["paths"], key=lambda path: -len(_PLACE.sub("", path)))
        return [(re.compile(_PLACE.sub(_match_place, path)), path) for path in templates]

    def describes(self, method: str, path: str) -> bool:
        """Return whether a path is one that the description names, with a method."""
        return any(
            item.fullmatch(path) and method.lower() in self._described["paths"][to]
            for item, to in self._paths
        )

    @property
    def operations(self) -> set[str]:
        """The names of all operations."""
        return {item["operationId"] for path in self._described["paths"].values() for item in path.values()}

    def check(self, method: str, target: str, status: int, kind: str | None, content: bytes) -> None:
        """Fail unless an answer is one that the description names."""
        place = urlsplit(target).path
        path = next(
            path
            for pattern, path in self._paths
            if pattern.fullmatch(place) and method.lower() in self._described["paths"][path]
        )
        operation = self._described["paths"][path][method.lower()]
        name = operation["operationId"]
        assert str(status) in operation["responses"], (name, status, content)
        self.seen[name, status] += 1
        forms = operation["responses"][str(status)].get("content", {})
        if not content or method == "HEAD":
            return
        form = (kind or "").partition(";")[0]
        assert form in forms, (name, status, kind)
        if form == _JSON:
            validator = self._validator(name, str(status), forms[_JSON]["schema"])
            error = best_match(validator.iter_errors(json.loads(content)))
            assert error is None, (name, status, error.message, list(error.absolute_path))

    def _validator(self, name: str, status: str, schema: dict[str, Any]) -> Draft202012Validator:
        if (name, status) not in self._validators:
            whole = {**schema, "components": self._described["components"]}
            self._validators[name, status] = Draft202012Validator(whole)
        return self._validators[name, status]


def check_what_clients_read(patch: pytest.MonkeyPatch, described: DescribedAnswers) -> None:
    """Hold every answer that a client of this process reads whole against the description."""
    send, load = Connections.send, Answer.load
    asked: dict[int, tuple[str, str]] = {}

    def note(self: Connections, method: str, target: str, headers: Any, body: Any) -> Answer:
        answer = send(self, method, target, headers, body)
        asked[id(answer)] = (method, target)
        return answer

    def check(self: Answer) -> None:
        load(self)
        kind = self.headers.get("content-type")
        described.check(*asked.pop(id(self)), self.status, kind, self.content)

    patch.setattr(Connections, "send", note)
    patch.setattr(Answer, "load", check)
