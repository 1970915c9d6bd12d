"""Where tools are too many to be listed: one finds them, the other calls one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.source import ToolCaller
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import NEXT_CURSOR, objects, page_options, text

FIND_TOOL, CALL_TOOL = "find_tool", "call_tool"
ListTools = Callable[[ToolCaller], list[Tool]]
RunCall = Callable[[ToolCaller, str, Mapping[str, Any]], dict[str, Any]]


def meta_tools(limits: ToolLimits, list_tools: ListTools, run_call: RunCall) -> list[Tool]:
    """Return both tools, over what lists and what calls."""

    def find(call: ToolCall) -> dict[str, Any]:
        page = call.page(_describe(tool) for tool in _rank(list_tools(call.caller), call.get("text", "")))
        return {"tools": page.items, "next_cursor": page.next_cursor}

    def run(call: ToolCall) -> dict[str, Any]:
        # The tool that is called is judged as if it had been called itself.
        return run_call(call.caller, call.arguments["name"], call.get("arguments", {}))

    return [
        Tool(
            FIND_TOOL,
            "Find a tool",
            "Find tools by words of what they do; this graph has more stored queries than are listed. "
            "Each is told with "
            "its input schema; call it with call_tool.",
            (),
            find,
            {"text": text("Words; all tools unless given."), **page_options(limits, "tools")},
            returns={"tools": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            CALL_TOOL,
            "Call a tool",
            "Call a tool that find_tool has found, with its arguments.",
            (),
            run,
            {
                "name": text("The name of the tool."),
                "arguments": {"type": "object", "description": "What it takes, by its input schema."},
            },
            ("name",),
            writes=True,
            destroys=True,
        ),
    ]


def _describe(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "writes": tool.writes,
        "input_schema": tool.input_schema,
    }


def _rank(tools: list[Tool], asked: str) -> list[Tool]:
    """Return the tools that have words of a text, those with the most and in their names first."""
    words = set(re.findall(r"\w+", asked.lower()))
    if not words:
        return tools
    scored = [(_score(tool, words), tool) for tool in tools]
    return [tool for score, tool in sorted(scored, key=lambda item: (-item[0], item[1].name)) if score]


def _score(tool: Tool, words: set[str]) -> int:
    named = f"{tool.name} {tool.title}".lower()
    text = f"{tool.description} {' '.join(tool.takes)}".lower()
    return sum(3 * (word in named) + (word in text) for word in words)
