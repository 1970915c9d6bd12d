"""The tools that a caller has, and their calls: every one, however it came, is judged here.

A caller that may only read has no tool that writes, and cannot call one; what a policy does not let an actor
do is not listed, and refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.base.errors import NotFound, OmniError, PolicyDenied, ReadOnly
from omnigraph.compiler.source import make_printable, suggest
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.pages import cut_down
from omnigraph.mcp.source import ToolCaller
from omnigraph.mcp.tools.branches import branch_tools
from omnigraph.mcp.tools.entities import entity_tools
from omnigraph.mcp.tools.feed import feed_tools
from omnigraph.mcp.tools.history import history_tools
from omnigraph.mcp.tools.meta import FIND_TOOL, meta_tools
from omnigraph.mcp.tools.migrations import migration_tools
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.proposals import proposal_tools
from omnigraph.mcp.tools.reads import read_tools
from omnigraph.mcp.tools.same import same_tools
from omnigraph.mcp.tools.stored import stored_tools
from omnigraph.mcp.tools.tags import tag_tools
from omnigraph.mcp.tools.writes import write_tools
from omnigraph.mcp.validate import check_arguments

_SHOWN_NAME_LETTERS = 100
_PARTS = (
    *(read_tools, entity_tools, history_tools, feed_tools, write_tools, migration_tools),
    *(branch_tools, tag_tools, same_tools, proposal_tools),
)


def graph_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools that every graph has."""
    return [tool for part in _PARTS for tool in part(limits)]


@dataclass(frozen=True)
class ToolRegistry:
    """Lists the tools of callers, and runs their calls."""

    limits: ToolLimits = field(default_factory=ToolLimits)

    def list_tools(self, caller: ToolCaller) -> list[Tool]:
        """Return the tools that a caller is shown: of many stored queries only how to find them."""
        actions = caller.source.actions()
        own = self._own(caller, actions)
        stored = self._list_stored(caller, actions)
        if len(stored) <= self.limits.tools:
            return own + stored
        return own + [
            _as_reader(tool, caller) for tool in meta_tools(self.limits, self.every_tool, self.call)
        ]

    def every_tool(self, caller: ToolCaller) -> list[Tool]:
        """Return all tools that a caller may call, also those that are too many to be listed."""
        actions = caller.source.actions()
        return self._own(caller, actions) + self._list_stored(caller, actions)

    def call(self, caller: ToolCaller, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a call and return its answer, which is bounded."""
        return self.run(caller, self.find(caller, name), arguments)

    def run(self, caller: ToolCaller, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a call of a tool that was found for this caller."""
        check_arguments(tool, arguments)
        answer = tool.run(ToolCall(tool.name, caller, arguments, self.limits))
        bounded: dict[str, Any] = cut_down(answer, self.limits.bytes)
        return bounded

    def read_schema(self, caller: ToolCaller) -> str:
        """Return the text of the schema, for who may read."""
        if "read" not in caller.source.actions():
            raise PolicyDenied("you may not read this graph", action="read", actor=caller.actor)
        return str(caller.source.open().snapshot().schema_source)

    def read_query(self, caller: ToolCaller, name: str) -> str:
        """Return the text of a stored query, for who may call it."""
        return str(caller.source.open().queries.show(name).text)

    def find(self, caller: ToolCaller, name: str) -> Tool:
        """Return a tool, or say why the caller may not call it, or that there is none."""
        actions = caller.source.actions()
        for tool in graph_tools(self.limits):
            if tool.name == name:
                refusal = _refusal(tool, caller, actions)
                if refusal is not None:
                    raise refusal
                return tool
        for tool in meta_tools(self.limits, self.every_tool, self.call):
            if tool.name == name:
                return tool
        stored = {tool.name: tool for tool in self._list_stored(caller, actions, all_of_them=True)}
        found = stored.get(name)
        if found is None:
            known = [tool.name for tool in self._own(caller, actions)] + [*stored]
            hint = suggest(name, known) or f"{FIND_TOOL} finds tools"
            raise NotFound(
                f"there is no tool '{make_printable(name[:_SHOWN_NAME_LETTERS])}'; {hint}",
                tool=name[:_SHOWN_NAME_LETTERS],
            )
        if found.writes and caller.read_only:
            raise _read_only(found)
        return found

    def _own(self, caller: ToolCaller, actions: frozenset[str]) -> list[Tool]:
        return [tool for tool in graph_tools(self.limits) if _refusal(tool, caller, actions) is None]

    def _list_stored(
        self, caller: ToolCaller, actions: frozenset[str], all_of_them: bool = False
    ) -> list[Tool]:
        """Return the tools that stored queries of the default branch are, for who may call them."""
        if "invoke_query" not in actions:
            return []
        graph = caller.source.open()
        queries = graph.queries.list()
        catalog = None
        if queries and "read" in actions:
            catalog = graph.snapshot().catalog
        found = stored_tools(queries, catalog, self.limits)
        return [tool for tool in found if all_of_them or _may_run(tool, caller, actions)]


def _refusal(tool: Tool, caller: ToolCaller, actions: frozenset[str]) -> OmniError | None:
    """Return why a caller may not call a tool at all."""
    if tool.writes and caller.read_only:
        return _read_only(tool)
    if tool.actions and not actions.intersection(tool.actions):
        return PolicyDenied(
            f"{caller.actor!r} may not {' or '.join(tool.actions)}, which the tool {tool.name!r} needs",
            action=tool.actions[0],
            actor=caller.actor,
        )
    return None


def _may_run(tool: Tool, caller: ToolCaller, actions: frozenset[str]) -> bool:
    """Return whether a caller may do somewhere what a stored query does, or has it granted by its name."""
    if tool.writes and caller.read_only:
        return False
    return f"invoke_query:{tool.query}" in actions or ("change" if tool.writes else "read") in actions


def _read_only(tool: Tool) -> ReadOnly:
    return ReadOnly(
        f"the tool {tool.name!r} changes the graph, and this connection only reads", tool=tool.name
    )


def _as_reader(tool: Tool, caller: ToolCaller) -> Tool:
    """Return `call_tool` as what it is for who only reads: what it calls changes nothing."""
    return replace(tool, writes=False, destroys=False) if caller.read_only else tool
