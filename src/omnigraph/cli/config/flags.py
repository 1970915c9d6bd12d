"""What was typed about where the graph is; the flags are the same for every command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddressFlags:
    """The address of a graph, in one of its forms."""

    store: str | None = None
    server: str | None = None
    graph: str | None = None
    profile: str | None = None
    cluster: str | None = None
