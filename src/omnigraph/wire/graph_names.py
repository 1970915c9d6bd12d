"""What a graph may be called: in a cluster, on a server, and in the addresses of both."""

from __future__ import annotations

import re

from omnigraph.base.errors import BadInput

GRAPH_NAME = re.compile(r"[a-zA-Z0-9-]{1,64}")
_OTHERS = re.compile(r"[^a-zA-Z0-9-]")
_MAX_LETTERS = 64


def check_graph_name(name: str) -> None:
    """Refuse what cannot be the name of a graph."""
    if not GRAPH_NAME.fullmatch(name):
        raise BadInput(f"{name!r} cannot name a graph: use 1 to 64 of the letters a-z, A-Z, 0-9 and -")


def as_graph_name(text: str) -> str:
    """Return a text as the name of a graph: what a name may not have is a `-`; empty if there is nothing."""
    return _OTHERS.sub("-", text)[:_MAX_LETTERS]
