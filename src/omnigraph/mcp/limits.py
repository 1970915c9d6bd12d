"""How much of a graph one answer of a tool may hold, and the environment variables that say so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from omnigraph.base.errors import BadInput


def _limit(default: int, meaning: str, variable: str, least: int = 1) -> Any:
    metadata = {"meaning": meaning, "variable": f"OMNIGRAPH_MCP_{variable}", "least": least}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """What one call may ask for and get; each limit has a default and an environment variable."""

    rows: int = _limit(100, "rows, changes or commits of an answer, where a call names no limit", "ROWS")
    most_rows: int = _limit(1_000, "the limit that a call may name", "MOST_ROWS")
    bytes: int = _limit(64 * 1024, "bytes of JSON of an answer", "BYTES", 4_096)
    records: int = _limit(1_000, "records that a call may load", "RECORDS")
    tools: int = _limit(
        40, "stored queries that are listed one by one; of more there are find_tool and call_tool", "TOOLS", 0
    )

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> ToolLimits:
        """Return the defaults, changed by environment variables."""
        source = os.environ if environment is None else environment
        chosen: dict[str, int] = {}
        for item in fields(ToolLimits):
            variable, least = item.metadata["variable"], item.metadata["least"]
            text = source.get(variable)
            if text is None:
                continue
            if not (text.isascii() and text.isdigit() and len(text) < 16) or int(text) < least:
                raise BadInput(
                    f"{variable}={text!r} is not a whole number of at least {least}", variable=variable
                )
            chosen[item.name] = int(text)
        return ToolLimits(**chosen)
