"""Which routes a path can be of, by one word of it: the framework would try them all, one after the other."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette._utils import get_route_path
from starlette.routing import Match
from starlette.types import Scope

_GRAPHS, _WORD = 1, 3
"""The places in `/graphs/NAME/WORD/…`, split at its slashes, of the first word and of the one that tells."""


class GraphRouter(APIRouter):
    """Some routes of a graph; paths whose word none of them has are passed over at once."""

    _words: frozenset[str] | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request is for one of these routes."""
        parts = get_route_path(scope).split("/", _WORD + 1)
        if len(parts) > _WORD and parts[_GRAPHS] == "graphs" and parts[_WORD] not in self._find_words():
            return Match.NONE, {}
        return super().matches(scope)

    def _find_words(self) -> frozenset[str]:
        if self._words is None:
            self._words = frozenset(_first_word(route) for route in self.routes)
        return self._words


def _first_word(route: Any) -> str:
    return str(route.path).split("/", 2)[1] if route.path else ""
