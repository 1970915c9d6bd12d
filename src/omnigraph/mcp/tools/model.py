"""A tool: what it is called, what it takes and returns, what it may do; and one call of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.pages import AnswerPage, Cursor, cut_down, fill_page, read_cursor
from omnigraph.mcp.source import ToolCaller
from omnigraph.wire.values import encode

_MAX_PLAIN_KEY_LETTERS = 200


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool: who calls, what with, and how much may come back."""

    tool: str
    caller: ToolCaller
    arguments: Mapping[str, Any]
    limits: ToolLimits
    options: Mapping[str, Any] | None = None
    """The options among the arguments, by what they are called everywhere; None where all are."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The other arguments."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return an option; null is the same as left out."""
        found = (self.arguments if self.options is None else self.options).get(name)
        return default if found is None else found

    def given(self, *names: str) -> dict[str, Any]:
        """Return the options of these names that were given."""
        return {name: self.get(name) for name in names if self.get(name) is not None}

    def split(self, options: Mapping[str, Any], params: Mapping[str, Any]) -> ToolCall:
        """Return the same call of a tool whose arguments are options, and parameters of a query."""
        return replace(
            self,
            options={name: item for name, item in options.items() if item is not None},
            params=params,
        )

    def open(self, branch: str | None = None) -> Any:
        """Return a handle of the graph for this call, on a branch where the engine's call names none."""
        return self.caller.source.open(self.key, branch)

    @property
    def key(self) -> str | None:
        """The idempotency key of the commit: that of the call, for this actor and tool alone."""
        given = self.get("idempotency_key")
        if given is None:
            return None
        whole = f"{self.tool} of {self.caller.actor or 'nobody'}: {given}"
        if len(whole.encode(errors="replace")) <= _MAX_PLAIN_KEY_LETTERS:
            return whole
        return f"{self.tool}: {hashlib.sha256(whole.encode(errors='replace')).hexdigest()}"

    @property
    def said(self) -> dict[str, Any]:
        """What the commit says: a message, and metadata, which names the tool."""
        return {"message": self.get("message"), "metadata": self.metadata}

    @property
    def metadata(self) -> dict[str, str]:
        """What is noted in the commit."""
        return {"tool": self.tool, **self.caller.noted, **self.get("metadata", {})}

    @property
    def place(self) -> dict[str, Any]:
        """What is read: a branch or a snapshot; after the first page, the commit of the first page."""
        cursor = self.cursor
        if cursor.commit is not None:
            return {"snapshot": cursor.commit}
        return self.given("branch", "snapshot")

    @property
    def cursor(self) -> Cursor:
        """Where the page begins that is asked for."""
        return read_cursor(self.get("cursor"), self.tool, self._digest)

    @property
    def rows(self) -> int:
        """How many items the page may have."""
        return int(self.get("limit", self.limits.rows))

    def page(self, items: Iterable[Any], commit: str | None = None, skipped: bool = False) -> AnswerPage:
        """Return the items of the page that is asked for; `skipped` says that they begin there already."""
        cursor = self.cursor
        begins = cursor.offset
        page, more = fill_page(items, 0 if skipped else begins, self.rows, self.limits.bytes * 3 // 4)
        after = self.continue_after(begins + len(page), cursor.commit or commit)
        return AnswerPage(page, after if more else None)

    def page_after(self, items: Iterable[Any], name: Callable[[Any], str]) -> AnswerPage:
        """Return a page of what is sorted by names; it goes on behind the last one, whatever has gone."""
        token = self.cursor.token
        rest = [item for item in items if token is None or name(item) > token]
        page = self.page(rest, skipped=True)
        more = page.next_cursor is not None
        return AnswerPage(page.items, self.continue_at(name(rest[len(page.items) - 1])) if more else None)

    def continue_after(self, offset: int, commit: str | None = None) -> str:
        """Return the cursor for what follows so many items, or bytes, of a commit."""
        return Cursor(offset, commit).write(self.tool, self._digest)

    def cut(self, item: Any) -> Any:
        """Return an item as JSON data, cut when it alone is too large for an answer."""
        return cut_down(encode(item), self.limits.bytes // 2)

    def continue_at(self, token: str | None, commit: str | None = None) -> str | None:
        """Return the cursor for a list that has pages of its own."""
        return None if token is None else Cursor(0, commit, token).write(self.tool, self._digest)

    @property
    def _digest(self) -> str:
        options = self.arguments if self.options is None else self.options
        fixed = {name: value for name, value in options.items() if name not in ("cursor", "limit")}
        asked = [fixed, dict(self.params)]
        text = json.dumps(asked, sort_keys=True, default=str).encode(errors="replace")
        return hashlib.sha256(text).hexdigest()[:16]


@dataclass(frozen=True)
class Tool:
    """A tool. Its schemas are JSON Schema; `run` gets arguments that fit `takes`."""

    name: str
    title: str
    description: str
    actions: tuple[str, ...]
    """One of these a policy must let its caller do somewhere; none for what needs no right."""
    run: Callable[[ToolCall], dict[str, Any]]
    takes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    returns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    writes: bool = False
    destroys: bool = False
    """Whether it may change or remove what was there; otherwise it only adds."""
    is_idempotent: bool = False
    """Whether the same call again, without a key, changes nothing more."""
    query: str | None = None
    """The stored query that it runs."""
    checked: frozenset[str] | None = None
    """The arguments that the schema decides about; None for all. The engine judges the others."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.takes.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of its answer."""
        return {"type": "object", "properties": {name: dict(item) for name, item in self.returns.items()}}
