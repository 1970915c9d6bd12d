"""One session: the graph, the branch or past commit that is looked at, and what becomes of a statement."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from typing import Any

from omnigraph.base.errors import BadInput, OmniError
from omnigraph.base.plain import read_json
from omnigraph.cli.output import print_error, print_json, print_note, print_table, print_text
from omnigraph.cli.shell.completion import Known
from omnigraph.cli.shell.statements import as_query
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import parse

_LOGGED_COMMITS = 20


class ShellSession:
    """Runs statements. A graph is opened once; branch and snapshot are said with each."""

    def __init__(self, graph: Any, as_json: bool = False, most_rows: int = 1_000) -> None:
        self._graph, self._as_json, self._most_rows = graph, as_json, most_rows
        self.branch: str = graph.branch
        self.snapshot: str | None = None
        self._params: dict[str, Any] = {}
        self.is_over = False
        self.failed = False
        """Whether the last statement was an error."""
        self._commands: dict[str, tuple[Callable[[list[str]], None], str]] = {
            "\\help": (self._help, "what can be typed"),
            "\\q": (self._quit, "end"),
            "\\schema": (self._schema, "[TYPE]: the schema, or one type"),
            "\\branches": (self._branches, "the branches"),
            "\\branch": (self._branch, "NAME: look at and change another branch"),
            "\\at": (
                self._at,
                "[REVISION]: read a commit, a tag, HEAD~1; without one the branch's head again",
            ),
            "\\log": (self._log, "[N]: the newest commits"),
            "\\diff": (self._diff, "FROM TO: what leads from one to the other"),
            "\\entity": (self._entity, "TYPE ID: one node or edge"),
            "\\history": (self._history, "TYPE ID: who changed it, and why"),
            "\\stored": (self._list_stored, "the stored queries"),
            "\\run": (self._run, "NAME [JSON]: run a stored query"),
            "\\params": (self._set_params, "[JSON]: values for the parameters of what is typed next"),
            "\\explain": (self._explain, "QUERY: how it is carried out"),
            "\\json": (self._json, "rows as JSON, or as tables again"),
        }

    @property
    def prompt(self) -> str:
        """What stands before the cursor."""
        return f"{self.branch}@{self.snapshot}> " if self.snapshot else f"{self.branch}> "

    def look_up(self) -> Known:
        """Return the names that there are now, for completion."""
        seen = self._graph.snapshot(self.branch)
        return Known(
            seen.catalog,
            self._graph.branches.list(),
            [query.name for query in self._graph.queries.list(branch=self.branch)],
            sorted(self._commands),
        )

    def execute(self, text: str) -> None:
        """Run a statement and show what comes of it; an error is shown and ends nothing."""
        self.failed = False
        try:
            if text.strip().startswith("\\"):
                self._command(text.strip())
            elif text.strip():
                self._query(text)
        except OmniError as error:
            self.failed = True
            print_error(error, self._as_json)

    def _command(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        known = self._commands.get(name)
        if known is None:
            raise BadInput(f"there is no command {name}: \\help lists them")
        try:
            words = [rest.strip()] if name in ("\\params", "\\explain") else shlex.split(rest)
        except ValueError as error:
            raise BadInput(f"{text!r} cannot be read: {error}") from error
        known[0](words)

    def _query(self, text: str) -> None:
        gq = as_query(text)
        typed = parse(gq).queries
        params = self._params_of({item.name for query in typed for item in query.parameters})
        if any(isinstance(item.body, ast.Write) for item in typed):
            if self.snapshot is not None:
                raise BadInput(
                    f"{self.snapshot} is in the past, which never changes: \\at goes back to the head"
                )
            self._show_change(self._graph.mutate(gq, params, branch=self.branch))
        else:
            self._show_rows(self._graph.query(gq, params, **self._place))

    def _params_of(self, names: Collection[str]) -> dict[str, Any]:
        """Return the values that were set for some parameters; those of others wait for another query."""
        return {name: value for name, value in self._params.items() if name in names}

    @property
    def _place(self) -> dict[str, str]:
        return {"branch": self.branch} if self.snapshot is None else {"snapshot": self.snapshot}

    def _show_rows(self, found: Any) -> None:
        rows = found[: self._most_rows]
        if self._as_json:
            for row in rows:
                print_json(row)
        else:
            print_table(found.columns, [[row[name] for name in found.columns] for row in rows])
        more = f", the first {self._most_rows} shown" if len(found) > len(rows) else ""
        print_note(f"({len(found)} row{'' if len(found) == 1 else 's'}{more}; commit {found.commit_id})")

    def _show_change(self, done: Any) -> None:
        if done.commit_id is None:
            print_note("nothing changed")
            return
        print_note(
            f"{done.affected_nodes} nodes and {done.affected_edges} edges changed; commit {done.commit_id}"
        )

    def _help(self, words: list[str]) -> None:
        print_text("a query, such as: match { $p: Person } return { $p.name } limit 5")
        print_text("it may have several lines, and ends where its brackets do, or with an empty line\n")
        print_table(("command", "what it does"), [(name, text) for name, (_, text) in self._commands.items()])

    def _quit(self, words: list[str]) -> None:
        self.is_over = True

    def _schema(self, words: list[str]) -> None:
        seen = self._look()
        if not words:
            print_text(seen.schema_source)
            return
        found = seen.catalog.node(words[0]) or seen.catalog.edge(words[0])
        if found is None:
            raise BadInput(f"there is no type {words[0]!r}: \\schema shows them")
        print_table(("property", "type"), [(item.name, str(item.type)) for item in found.properties])

    def _look(self) -> Any:
        return (
            self._graph.snapshot(self.branch)
            if self.snapshot is None
            else self._graph.snapshot(commit=self.snapshot)
        )

    def _branches(self, words: list[str]) -> None:
        print_table(
            ("branch", ""),
            [(name, "*" if name == self.branch else "") for name in self._graph.branches.list()],
        )

    def _branch(self, words: list[str]) -> None:
        (name,) = _take(words, 1, "\\branch NAME")
        self._graph.snapshot(name)
        self.branch, self.snapshot = name, None

    def _at(self, words: list[str]) -> None:
        if words:
            self._graph.snapshot(commit=words[0])
        self.snapshot = words[0] if words else None

    def _log(self, words: list[str]) -> None:
        count = words[0] if words else str(_LOGGED_COMMITS)
        if not (count.isascii() and count.isdigit()):
            raise BadInput(f"\\log {count}: give a number of commits")
        found = self._graph.commits.list(self.branch, int(count))
        rows = [(item.id, item.actor, item.created_at, item.operation, item.message) for item in found]
        print_table(("commit", "actor", "at", "what", "why"), rows)

    def _diff(self, words: list[str]) -> None:
        before, after = _take(words, 2, "\\diff FROM TO")
        page = self._graph.diff(before, after).page(self._most_rows)
        rows = [(item.op, item.type_name, item.id) for item in page.changes]
        print_table(("op", "type", "id"), rows)
        if page.next_page_token is not None:
            print_note(f"the first {self._most_rows} changes; `omnigraph diff` shows all")

    def _entity(self, words: list[str]) -> None:
        type_, id_ = _take(words, 2, "\\entity TYPE ID")
        found = self._graph.entity(type_, id_, **self._place)
        print_table(("property", "value"), list(found.properties.items()))

    def _history(self, words: list[str]) -> None:
        type_, id_ = _take(words, 2, "\\history TYPE ID")
        steps = self._graph.entity(type_, id_, **self._place).history(_LOGGED_COMMITS)
        rows = [
            (item.commit.id, item.commit.actor, item.op, ", ".join(item.changed), item.commit.message)
            for item in steps
        ]
        print_table(("commit", "actor", "op", "changed", "why"), rows)

    def _list_stored(self, words: list[str]) -> None:
        found = self._graph.queries.list(branch=self.branch)
        rows = [
            (item.name, item.kind, ", ".join(f"${p.name}: {p.type}" for p in item.params), item.description)
            for item in found
        ]
        print_table(("query", "kind", "takes", "what"), rows)

    def _run(self, words: list[str]) -> None:
        if not words:
            raise BadInput("say \\run NAME, and perhaps a JSON object of parameters in single quotes")
        query = self._graph.queries.show(words[0], **self._place)
        names = {item.name for item in query.params}
        params = _read_object(words[1]) if len(words) > 1 else self._params_of(names)
        if query.is_mutation:
            self._show_change(self._graph.run(words[0], params, branch=self.branch))
        else:
            self._show_rows(self._graph.run(words[0], params, **self._place))

    def _set_params(self, words: list[str]) -> None:
        self._params = _read_object(words[0]) if words[0] else {}

    def _explain(self, words: list[str]) -> None:
        gq = as_query(words[0])
        names = {item.name for query in parse(gq).queries for item in query.parameters}
        print_text(str(self._graph.explain(gq, self._params_of(names), **self._place)))

    def _json(self, words: list[str]) -> None:
        self._as_json = not self._as_json


def _take(words: list[str], count: int, usage: str) -> list[str]:
    if len(words) != count:
        raise BadInput(f"say {usage}")
    return words


def _read_object(text: str) -> dict[str, Any]:
    try:
        found = read_json(text)
    except ValueError as error:
        raise BadInput(f"{text!r} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadInput(f"{text!r} is not a JSON object: give names and values")
    return found
