"""What a route asks of a request and holds to: one value, read from its function when it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.dependencies.utils import get_dependant

from omnigraph.server.calls import find_call, read_head, read_write_headers

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_READS_ONLY, _CHECKS_RIGHTS = "omnigraph_reads_only", "omnigraph_checks_rights"


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """What a route asks of a request, and holds to."""

    writes: bool = False
    """Whether it is admitted as a write, and runs in the threads of writes."""
    refuses_readers: bool = False
    """Whether who may change nothing of the graph is refused before its function is called."""
    takes_condition: bool = False
    """Whether it holds to the commit that a header says must still be the head."""
    repeats_answer: bool = False
    """Whether the server keeps its answer under an idempotency key; a commit keeps its key itself."""


def read_terms(path: str, endpoint: Callable[..., Any], methods: Iterable[str]) -> RouteTerms:
    """Return the terms of a function: from the methods, its marks, and what it depends on."""
    writes = not (_SAFE.issuperset(methods) or hasattr(endpoint, _READS_ONLY))
    depends_on = [item.call for item in get_dependant(path=path, call=endpoint).dependencies]
    is_of_graph, holds_to_headers = find_call in depends_on, read_write_headers in depends_on
    return RouteTerms(
        writes=writes,
        refuses_readers=writes and is_of_graph and not hasattr(endpoint, _CHECKS_RIGHTS),
        takes_condition=holds_to_headers or read_head in depends_on,
        repeats_answer=writes and is_of_graph and not holds_to_headers,
    )


def reads_only(endpoint: _Endpoint) -> _Endpoint:
    """Mark a POST that changes nothing."""
    endpoint.__dict__[_READS_ONLY] = True
    return endpoint


def checks_rights(endpoint: _Endpoint) -> _Endpoint:
    """Mark a write that says itself what a caller may not do: how it refuses must not tell what there is."""
    endpoint.__dict__[_CHECKS_RIGHTS] = True
    return endpoint
