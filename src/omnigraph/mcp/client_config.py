"""What a client of MCP is told of a graph: the entry of its configuration, to be pasted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_TOKEN = "Bearer ${OMNIGRAPH_BEARER_TOKEN}"


def describe_process(name: str, command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a server that the client starts itself, and talks to over its input and output."""
    return {"mcpServers": {_entry(name): {"command": command, "args": list(arguments)}}}


def describe_address(name: str, url: str, has_token: bool, read_only: bool) -> dict[str, Any]:
    """Return the entry of a server at an address; a token is named by its variable, never printed."""
    entry: dict[str, Any] = {"type": "http", "url": f"{url}?read_only=true" if read_only else url}
    if has_token:
        entry["headers"] = {"Authorization": _TOKEN}
    return {"mcpServers": {_entry(name): entry}}


def _entry(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name.rstrip("/").rsplit("/", 1)[-1]).strip("-")
    return f"omnigraph-{plain}" if plain else "omnigraph"
