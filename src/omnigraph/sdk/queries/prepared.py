"""A read query that was checked once and is run many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.execution.result import Result


class PreparedQuery:
    """A checked read query of a graph: called with parameters, it runs on the newest state."""

    def __init__(self, query: Callable[..., Result], gq: str, name: str | None) -> None:
        """Stand for a query that the graph's method `query` runs."""
        self._query, self._gq, self._name = query, gq, name

    def __call__(self, params: Mapping[str, Any] | None = None, **where: Any) -> Result:
        """Run the query; `where` takes what `query` takes, such as `branch` and `timeout`."""
        return self._query(self._gq, params, name=self._name, **where)

    def __repr__(self) -> str:
        text = " ".join(self._gq.split())
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        return f"PreparedQuery({self._name or shown!r}; {self._query.__self__!r})"  # type: ignore[attr-defined]
