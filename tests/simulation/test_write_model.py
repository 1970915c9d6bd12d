"""Writers against a model: random schemas, mutations, loads and schema changes on several branches.

They write through handles of this process and of another one, and now and then overtake each other. After
every step what is stored equals a plain Python graph and keeps every rule; a refused write changes nothing.
`OMNIGRAPH_MODEL_EXAMPLES` asks for so many random histories instead of the fixed ones.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import omnigraph as og
from omnigraph.compiler.catalog.migration.plan import plan_migration
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TableType
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import WriteQuery
from omnigraph.compiler.lower.bind import bind_write
from omnigraph.compiler.typecheck.writes.statements import default_value
from omnigraph.compiler.values.params import decode_params
from omnigraph.graph.manifest.layout import table_identity
from support.examples import model_settings
from support.generated_mutations import Mutations
from support.graphs import notes, plan_paths
from support.integrity_oracle import assert_integrity, violations
from support.reference_graph import Edge, MemoryGraph, whole_row
from support.reference_write import Incomplete, Uncomputable, run_write
from support.workers import Worker

STEPS = 25
PARKED = "publish.before_record"
IMPATIENT = {"OMNIGRAPH_TURN_SECONDS": "0.02"}
elsewhere: list[Worker] = []
"""The other process."""
seen: Counter[str] = Counter()
"""How often each outcome was met."""

OPTIONAL = {
    "s": ("String?", ["a", "bc", "", "é", "d", "ef"]),
    "c": ("String?", ["abc", "xyz", "A1", "zza"]),
    "r": ("I32?", [0, 5, 10, 11, -1]),
    "n": ("I64?", [0, 1, 2**53 + 1, -5]),
    "big": ("U64?", [0, 2**63 - 1, 7]),
    "f": ("F64?", [0.0, -0.0, 0.5, -1.5, 0.1, 1e300]),
    "g": ("F32?", [0.5, 0.1, -0.0]),
    "e": ("enum(a, b)?", ["a", "b", "zz"]),
    "d": ("Date?", ["2024-02-29", "1969-12-31", "2000-01-01", "2001-01-01"]),
    "t": (
        "DateTime?",
        ["2024-02-29T01:02:03.004Z", "1969-12-31T23:59:59Z", "2000-01-01", "2001-01-01T00:00:00.001Z"],
    ),
    "l": ("[I32]?", [[], [1, 2], [3]]),
    "ls": ("[String]?", [["a"], [], ["b", "cd"]]),
    "v": ("Vector(2)?", [[0.5, -1.0], [1, 0]]),
    "p": ("Blob?", ["base64:AAE=", "base64:"]),
    "ld": ("[Date]?", [["2024-02-29"], []]),
    "b": ("Bool?", [True, False]),
    "q": ('String @default("dq")', ["a", "b"]),
    "m": ("I32 @default(3)", [3, 4]),
}
"""Properties that a type may have: the declaration, and values, of which some break rules."""
WRONG: dict[str, list[Any]] = {"e": ["zz"], "r": [11, -1], "c": ["A1"], "f": [1e300]}
"""The values that break a rule, where the type has it; they are written now and then."""
EDITS = [
    *[("r: I32?", "r: I64?"), ("g: F32?", "g: F64?"), ("m: I32 ", "m: I64 ")],
    *[("e: enum(a, b)?", "e: enum(a, b, zz)?"), ("e: enum(a, b)?", "e: enum(a, b)")],
    *[("n: I64?", "n: I64"), ("b: Bool?", "b: Bool"), ("d: Date?", "d: Date"), ("l: [I32]?", "l: [I32]")],
    *[("s: String?", 'c: String? @rename_from("s")'), ("c: String?", 's: String? @rename_from("c")')],
    *[("r: I32?", "r: U32?"), ("e: enum(a, b, zz)?", "e: enum(a, b)?"), ("n: I64", "n: I32")],
]
"""What a migration does to one property: widen, extend, require, rename, or something that is refused."""
RULES = [
    *("@unique(s)", "@unique(d)", "@unique(t)", "@unique(r, d)", "@unique(f)", "@unique(big)", "@unique(g)"),
    *("@range(r, 0..10)", "@range(f, ..1)", '@check(c, "^[a-z]*$")', "@unique(q, m)"),
]
KEYS = {
    "none": {},
    "text": {"k": ("String", ["x", "y", "z", "é", "v", "w"])},
    "number": {"k": ("I32", [1, 2, 3, 4, 5])},
    "pair": {"k": ("String", ["x", "y"]), "day": ("Date", ["2024-01-01", "2024-01-02"])},
}
CARDS = ["", " @card(0..1)", " @card(1..2)", " @card(0..3)"]


@st.composite
def schemas(
    draw: st.DrawFn, keys: tuple[str, str], cards: tuple[str, str], edge_keys: tuple[bool, bool]
) -> str:
    """Draw a schema of two node and two edge types; keys, cardinalities and names stay the same."""
    lines = []
    for name, key in zip("AB", keys, strict=True):
        lines.append(f"node {name} {{ {draw(_body(dict(KEYS[key]), key, False))} }}")
    for name, card, ends, keyed in zip("EF", cards, ("A -> B", "A -> A"), edge_keys, strict=True):
        if name == "E" or draw(st.integers(0, 5)):
            body = draw(_body({}, "none", True))
            body += f"  @key(dst, src{', q' if ' q:' in f' {body}' else ''})" if keyed else ""
            lines.append(f"edge {name}: {ends}{card} {{ {body} }}")
    if draw(st.integers(0, 3)) == 0:
        lines.append("node C { k: String @key }")
    return "\n".join(lines) + "\n"


@st.composite
def _body(draw: st.DrawFn, key: dict[str, Any], kind: str, is_edge: bool) -> str:
    least, most = (0, 4) if is_edge else (5, 9)
    names = sorted(draw(st.sets(st.sampled_from(sorted(OPTIONAL)), min_size=least, max_size=most)))
    parts = [f"{name}: {declared}" for name, (declared, _) in key.items()]
    parts += [f"{name}: {OPTIONAL[name][0]}" for name in names]
    if key:
        parts.append(f"@key({', '.join(key)})")
    for text in RULES:
        members = [part.strip(" )") for part in text[text.index("(") + 1 :].split(",")]
        needed = [part for part in members if part in OPTIONAL]
        usable = needed and set(needed) <= set(names) and not (is_edge and not text.startswith("@unique"))
        if usable and draw(st.integers(0, 1)):
            parts.append(text)
    if is_edge and draw(st.integers(0, 3)) == 0:
        parts.append("@unique(src, dst)")
    return "  ".join(parts)


def candidates(data: st.DataObject, table: TableType, name: str) -> list[Any]:
    """Return values to write for a property, rarely with wrong ones among them."""
    if name in OPTIONAL:
        wrong = WRONG.get(name, []) if data.draw(st.integers(0, 3)) else []
        return [value for value in OPTIONAL[name][1] if value not in wrong]
    kind = "number" if table.by_name[name].type.scalar.is_integer else "pair" if name == "day" else "text"
    return KEYS[kind][name][1]


def contents(graph: MemoryGraph) -> Any:
    """Return what a graph holds, without ids that somebody minted."""

    def shown(row: dict[str, Any]) -> str:
        return repr(sorted((name, value) for name, value in row.items()))

    nodes = {
        node.name: Counter(
            f"{id_ if node.key else ''} {shown(row)}" for id_, row in graph.nodes[node.name].items()
        )
        for node in graph.catalog.nodes
    }
    edges = {
        edge.name: Counter(
            f"{id_ if edge.key else ''} {row.source} {row.target} {shown(row.values)}"
            for id_, row in graph.edges[edge.name].items()
        )
        for edge in graph.catalog.edges
    }
    return nodes, edges


def touched(before: MemoryGraph, after: MemoryGraph) -> dict[str, set[str]]:
    """Return the sources whose edges a write added, changed or removed."""
    found: dict[str, set[str]] = {}
    for edge in after.catalog.edges:
        old, new = before.edges.get(edge.name, {}), after.edges[edge.name]
        changed = {id_ for id_ in {*old, *new} if old.get(id_) != new.get(id_)}
        found[edge.name] = {rows[id_].source for rows in (old, new) for id_ in changed if id_ in rows}
    return found


class Refused(Exception):
    """The model does not let an operation in."""


def migrated(graph: MemoryGraph, target: Catalog) -> MemoryGraph:
    """Return a graph under another schema: tables and properties go by identity, new ones get defaults."""
    after = MemoryGraph(target)
    old = {table_identity(table): table for table in graph.catalog.tables}
    for table in target.tables:
        before = old.get(table_identity(table))
        if before is None:
            continue
        names = {item.id: item.name for item in before.properties}

        def carried(
            row: dict[str, Any], table: TableType = table, names: dict[int, str] = names
        ) -> dict[str, Any]:
            return {
                item.name: row[names[item.id]]
                if item.id in names
                else (default_value(item).value if item.default else None)
                for item in table.properties
            }

        if isinstance(table, NodeType):
            rows = graph.nodes[before.name]
            after.nodes[table.name] = {id_: carried(row) for id_, row in rows.items()}
        else:
            edges = {
                id_: Edge(row.source, row.target, carried(row.values))
                for id_, row in graph.edges[before.name].items()
            }
            if table.key and not before.key:
                named = {after.edge_id(table, row): row for row in edges.values()}
                if len(named) < len(edges):
                    raise Refused(f"{table.name}: a key twice")
                edges = named
            after.edges[table.name] = edges
    return after


@dataclass(frozen=True)
class Operation:
    """Something that a writer does, and what it does to a plain graph."""

    kind: str
    words: tuple[Any, ...]
    repeatable: bool
    simulate: Callable[[MemoryGraph], tuple[MemoryGraph, Any]]
    """Return the graph afterwards and what the writer is told, or raise Refused."""

    def run(self, graph: Any) -> Any:
        """Carry it out and return what the writer is told."""
        if self.kind == "mutation":
            done = graph.mutate(*self.words)
            return {"affected_nodes": done.affected_nodes, "affected_edges": done.affected_edges}
        if self.kind == "load":
            done = graph.load(self.words[0], mode=self.words[1])
            return done.nodes, done.edges
        return graph.schema.apply(*self.words, allow_drop=True).applied


REFUSALS = (og.ValidationError, og.KeyConflict, og.SchemaChangeUnsupported, og.TypeCheckError)


class Elsewhere:
    """A handle that another process holds open."""

    def __init__(self, worker: Worker, uri: str, branch: str) -> None:
        self._worker, self._place = worker, (uri, branch)
        self.schema = self
        self.branches = SimpleNamespace(create=partial(self._ask, "branches.create"))
        self.mutate = partial(self._ask, "mutate")
        self.load = partial(self._ask, "load")
        self.apply = partial(self._ask, "schema.apply")

    def _ask(self, method: str, *given: Any, **named: Any) -> Any:
        return self._worker.ask("held", *self._place, method, given, named, env=IMPATIENT)

    def begin(self, operation: Operation) -> bool:
        """Begin an operation and stop it before it is published; say whether it came so far."""
        for end in ("parked", "release"):
            (self._worker.folder / f"{PARKED}.{end}").unlink(missing_ok=True)
        methods = {"mutation": "mutate", "load": "load", "schema": "schema.apply"}
        more = {"load": {"mode": operation.words[-1]}, "schema": {"allow_drop": True}}
        named = more.get(operation.kind, {})
        given = operation.words[:1] if operation.kind == "load" else operation.words
        self._worker.tell(
            "held", *self._place, methods[operation.kind], given, named,
            failpoints=f"{PARKED}=park@1", env=IMPATIENT,
        )  # fmt: skip
        return self._worker.parks_or_answers(PARKED)

    def finish(self, operation: Operation) -> Any:
        """Let it go on and return what it is told."""
        self._worker.release(PARKED)
        answer = self._worker.answer()
        return operation.run(_Answered(answer))


class _Answered:
    """A handle that has the answer already."""

    def __init__(self, answer: Any) -> None:
        self.schema = self
        self.mutate = self.load = self.apply = lambda *given, **named: answer


def _let_in(before: MemoryGraph, after: MemoryGraph) -> MemoryGraph:
    if broken := violations(after, touched(before, after)):
        raise Refused(str(broken))
    return after


def _unknown(graph: MemoryGraph, records: list[Any]) -> str:
    """Return what records speak of that the schema does not have, or lack that it needs."""
    tables = {table.table_key: table for table in graph.catalog.tables}
    for item in records:
        table = tables.get(f"node:{item['type']}" if "type" in item else f"edge:{item['edge']}")
        if table is None or not set(item["data"]) <= {"id", *table.by_name}:
            return f"unknown names in {item}"
        required = (it for it in table.properties if not it.type.nullable and it.default is None)
        if any(item["data"].get(it.name) is None for it in required):
            return f"{item} lacks something"
        if any(item["data"].get(it.name, 0) is None for it in table.properties if not it.type.nullable):
            return f"{item} has null"
    return ""


def _completed(graph: MemoryGraph, record: Any) -> Any:
    """Return a patch with what is stored and not given; one that is wrong or new stays as it is."""
    table = graph.catalog.node(record["type"]) if "type" in record else graph.catalog.edge(record["edge"])
    data = record["data"]
    if table is None or any(name in table.by_name and name not in data for name in table.key or ()):
        return record
    try:
        key = {item.name: data[item.name] for item in table.properties if item.name in (table.key or ())}
        given = whole_row(table.properties, key)
    except (TypeError, ValueError):
        return record
    before: dict[str, Any] | None = None
    if isinstance(table, NodeType):
        before = graph.nodes[table.name].get(graph.node_id(table, given, data.get("id")))
    else:
        edge = Edge(record["from"], record["to"], given)
        stored = graph.edges[table.name].get(graph.edge_id(table, edge, data.get("id")))
        before = None if stored is None else stored.values
    return record if before is None else {**record, "data": {**before, **data}}


def _reasons(before: MemoryGraph, records: list[Any], mode: str) -> list[str]:
    """Return why records cannot be loaded that are right one by one: equal ids and equal tuples."""
    found = []
    for table in before.catalog.tables:
        mine = [
            item for item in records if item.get("type" if table.kind == "node" else "edge") == table.name
        ]
        rows, ids = [], []
        for item in mine:
            row = whole_row(table.properties, {k: v for k, v in item["data"].items() if k != "id"})
            rows.append({**row, "src": item.get("from"), "dst": item.get("to")})
            if isinstance(table, NodeType) and table.key:
                ids.append(before.node_id(table, row))
            elif isinstance(table, EdgeType) and table.key:
                ids.append(before.edge_id(table, Edge(item["from"], item["to"], row)))
            elif "id" in item["data"]:
                ids.append(item["data"]["id"])
        twice = len(set(ids)) < len(ids)
        has_key = table.key is not None
        if twice and (has_key or mode != "merge"):
            found.append(f"{table.name}: an id twice")
        if twice and not has_key and mode == "merge":
            for group in table.uniques:
                tuples = [
                    members for row in rows if None not in (members := tuple(row[name] for name in group))
                ]
                if len(set(tuples)) < len(tuples):
                    found.append(f"{table.name}: a tuple twice")
        stored = before.nodes[table.name] if table.kind == "node" else before.edges[table.name]
        if mode == "append" and any(id_ in stored for id_ in ids):
            found.append(f"{table.name}: stored already")
    return found


class WriteMachine(RuleBasedStateMachine):
    """Writes on branches of one graph: each through two handles here, and one in another process."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-write-model-"))
        self.uri = str(self.folder / "graph")
        self.keys = data.draw(
            st.tuples(st.sampled_from(sorted(KEYS)), st.sampled_from(["text", "number", "none"]))
        )
        self.cards = data.draw(st.tuples(st.sampled_from(CARDS), st.sampled_from(CARDS)))
        self.edge_keys = data.draw(st.tuples(st.booleans(), st.booleans()))
        text = data.draw(schemas(self.keys, self.cards, self.edge_keys))
        og.init(self.uri, text)
        self.handles = {"main": self._opened("main")}
        self.model = {"main": MemoryGraph(compile_schema(text))}
        self.outcomes: Counter[str] = Counter()
        self.parked = 0
        """How many plans belong to a writer that waits."""

    def teardown(self) -> None:
        if not elsewhere[0].is_waiting:  # a failed example must not fail the next one
            elsewhere[0].release(PARKED)
            with suppress(Exception):
                elsewhere[0].answer()
        if hasattr(self, "folder"):
            for branch in self.model:
                self._agree(branch)
            assert plan_paths(self.uri) == []
            assert notes(self.handles["main"][0]) == []
            shutil.rmtree(self.folder, ignore_errors=True)
            seen.update(self.outcomes)

    def _opened(self, branch: str) -> list[Any]:
        with patch.dict(os.environ, IMPATIENT):
            here = [og.open(self.uri, branch=branch), og.open(self.uri, branch=branch)]
        return [*here, Elsewhere(elsewhere[0], self.uri, branch)]

    @precondition(lambda self: len(self.model) < 3)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(self.model)))
        name = f"b{len(self.model)}"
        data.draw(st.sampled_from(self.handles[source])).branches.create(name, source)
        self.model[name] = copy.deepcopy(self.model[source])
        self.handles[name] = self._opened(name)

    @rule(data=st.data())
    def insert_or_update(self, data: st.DataObject) -> None:
        self._write(data, "insert_or_update")

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self._write(data, "delete")

    @rule(data=st.data())
    def load(self, data: st.DataObject) -> None:
        self._write(data, "load")

    @rule(data=st.data())
    def change_schema(self, data: st.DataObject) -> None:
        self._write(data, "change_schema")

    def _write(self, data: st.DataObject, kind: str) -> None:
        branch = data.draw(st.sampled_from(sorted(self.model)))
        graph = data.draw(st.sampled_from(self.handles[branch]))
        operation = self._drawn(data, branch, kind)
        if operation is not None:
            self._judge(branch, operation, lambda: operation.run(graph))

    @rule(data=st.data())
    def overtake(self, data: st.DataObject) -> None:
        """A writer in another process is overtaken right before it publishes."""
        branch = data.draw(st.sampled_from(sorted(self.model)))
        kinds = st.sampled_from(["insert_or_update", "insert_or_update", "delete", "load", "change_schema"])
        slow, quick = (self._drawn(data, branch, data.draw(kinds)) for _ in range(2))
        if slow is None or quick is None:
            return
        there = self.handles[branch][2]
        if not there.begin(slow):  # refused, or nothing to publish
            self._judge(branch, slow, lambda: there.finish(slow))
            self._judge(branch, quick, lambda: quick.run(self.handles[branch][0]))
            return
        before, self.parked = self._head(branch), len(plan_paths(self.uri))
        self._judge(branch, quick, lambda: quick.run(self.handles[branch][0]))
        moved, self.parked = before != self._head(branch), 0
        self._judge(branch, slow, lambda: there.finish(slow), overtaken=moved)

    def _judge(
        self, branch: str, operation: Operation, run: Callable[[], Any], overtaken: bool = False
    ) -> None:
        """Run an operation: it lands exactly when the model lets it in, and a refused one changes nothing."""
        before, head = self.model[branch], self._head(branch)
        try:
            after, expected = operation.simulate(before)
            reason = ""
        except Refused as error:
            after, expected, reason = before, None, str(error)
        try:
            told = run()
        except REFUSALS as error:
            assert reason, f"refused without reason: {operation.words}: {error}"
            self._nothing_changed(branch, head, f"refused {operation.kind}")
            return
        except og.ExpectedVersionMismatch:
            assert overtaken and not operation.repeatable, operation.words
            self._nothing_changed(branch, head, f"conflict of {operation.kind}")
            return
        assert not reason, f"{reason} let in by {operation.words}"
        assert told == expected
        self.outcomes[f"overtaken {operation.kind}" if overtaken else operation.kind] += 1
        self._agree(branch, after)

    def _drawn(self, data: st.DataObject, branch: str, kind: str) -> Operation | None:
        before = self.model[branch]
        match kind:
            case "insert_or_update":
                words = st.lists(
                    st.sampled_from(["node", "edge", "edge", "update", "upsert", "upsert"]),
                    min_size=1,
                    max_size=4,
                )
                if not data.draw(st.integers(0, 3)):
                    return self._matched(data, before)
                return self._mutation(data, before, data.draw(words))
            case "delete":
                return self._mutation(data, before, ["delete"] * data.draw(st.integers(1, 2)))
            case "load":
                return self._load(data, before)
            case _:
                return self._schema_change(data, branch)

    def _mutation(self, data: st.DataObject, before: MemoryGraph, kinds: list[str]) -> Operation | None:
        drawn = self._mutations(data, before)
        statements = [text for kind in kinds if (text := drawn.statement(kind)) is not None]
        if not statements:
            return None
        repeatable = all(kind in ("node", "edge") for kind in kinds)
        return self._simulated(drawn.query(statements), drawn.params, repeatable)

    def _matched(self, data: st.DataObject, before: MemoryGraph) -> Operation | None:
        """Draw a mutation that writes what a pattern finds."""
        drawn = self._mutations(data, before)
        text = drawn.of_match()
        return None if text is None else self._simulated(text, drawn.params, False)

    def _mutations(self, data: st.DataObject, before: MemoryGraph) -> Mutations:
        def end(node: str) -> str:
            return self._end(data, before, node)

        return Mutations(data.draw, before, partial(candidates, data), end)

    def _simulated(self, text: str, params: dict[str, Any], repeatable: bool) -> Operation:
        """Return a mutation that the model runs as well."""

        def simulate(graph: MemoryGraph) -> tuple[MemoryGraph, Any]:
            try:
                query = compile_query(text, graph.catalog, kind="mutation")
            except og.TypeCheckError as error:
                raise Refused(str(error)) from None
            assert isinstance(query, WriteQuery)
            given = decode_params(params, [(item.name, item.type) for item in query.parameters])
            after = copy.deepcopy(graph)
            try:
                counts = run_write(bind_write(query, given, 0), after)
            except Incomplete:
                raise Refused("an upsert lacks a required value") from None
            except Uncomputable:
                raise Refused("a computation without a result") from None
            return _let_in(graph, after), counts

        return Operation("mutation", (text, params), repeatable, simulate)

    def _load(self, data: st.DataObject, before: MemoryGraph) -> Operation:
        modes = ["append", "append", "merge", "merge", "patch", "patch", "overwrite"]
        mode = data.draw(st.sampled_from(modes))
        records, wrong, coming = [], False, copy.deepcopy(before)
        for _ in range(data.draw(st.integers(1, 5))):
            tables = [*before.catalog.nodes, *before.catalog.tables]
            table = data.draw(st.sampled_from(tables))
            required = [
                item.name for item in table.properties if not item.type.nullable and item.default is None
            ]
            chosen = (
                data.draw(
                    st.sets(
                        st.sampled_from(sorted(table.by_name)),
                        min_size=min(3, len(table.by_name)),
                        max_size=7,
                    )
                )
                if table.by_name
                else set()
            )
            if mode == "patch" and data.draw(st.integers(0, 2)):  # what is stored need not be given
                required = [name for name in table.key or () if name in table.by_name]
            values: dict[str, Any] = {}
            for name in sorted({*required, *chosen}):
                nullable = table.by_name[name].type.nullable
                values[name] = data.draw(
                    st.sampled_from([*candidates(data, table, name), *([None] if nullable else [])])
                )
            damage = data.draw(st.integers(0, 30))
            if damage == 0 and values:
                values[data.draw(st.sampled_from(sorted(values)))] = {"no": "value"}
                wrong = True
            elif damage == 1:
                values["unknown"] = 1
                wrong = True
            elif damage == 2 and required:
                del values[required[0]]
                wrong = True
            if not table.key and data.draw(st.booleans()):
                values["id"] = data.draw(st.sampled_from(["i1", "i2"]))
            if isinstance(table, NodeType):
                records.append({"type": table.name, "data": values})
                if table.key and not wrong:
                    coming.load(records[-1:], "merge")
            else:
                ends = [self._end(data, coming, getattr(table, side)) for side in ("source", "target")]
                records.append({"edge": table.name, "from": ends[0], "to": ends[1], "data": values})

        def simulate(graph: MemoryGraph) -> tuple[MemoryGraph, Any]:
            whole = [_completed(graph, item) for item in records] if mode == "patch" else records
            if wrong or (missing := _unknown(graph, whole)):
                raise Refused("a bad record" if wrong else missing)
            if reasons := _reasons(graph, whole, mode):
                raise Refused(str(reasons))
            after = copy.deepcopy(graph)
            after.load(whole, mode)
            counts = [Counter(item[kind] for item in records if kind in item) for kind in ("type", "edge")]
            return _let_in(graph, after), tuple(counts)

        return Operation("load", (records, mode), mode != "overwrite", simulate)

    def _schema_change(self, data: st.DataObject, branch: str) -> Operation:
        text = self._edited(data, branch) if data.draw(st.booleans()) else None
        if not data.draw(st.integers(0, 5)):  # from now on
            self.edge_keys = True, True
        text = text or data.draw(schemas(self.keys, self.cards, self.edge_keys))

        def simulate(graph: MemoryGraph) -> tuple[MemoryGraph, Any]:
            try:
                plan = plan_migration(graph.catalog, text)
            except og.SchemaChangeUnsupported as error:  # somebody else has renamed it meanwhile
                raise Refused(str(error)) from None
            if not plan.supported:
                raise Refused("unsupported")
            after = migrated(graph, plan.target)
            if broken := violations(after):
                raise Refused(str(broken))
            self.outcomes.update({f"step {step.kind}" for step in plan.steps})
            return after, bool(plan.steps)

        return Operation("schema", (text,), False, simulate)

    def _edited(self, data: st.DataObject, branch: str) -> str | None:
        """Return the schema of a branch with one property of one type declared differently."""
        source = re.sub(r' @rename_from\("\w+"\)', "", self.handles[branch][0].schema.source)
        lines = source.splitlines()
        possible = [
            (at, old, new)
            for at, line in enumerate(lines)
            for old, new in EDITS
            if f" {old}" in line and (new[0] == old[0] or f" {new[:2]}" not in line)
        ]
        if not possible:
            return None
        at, old, new = data.draw(st.sampled_from(possible))
        lines[at] = lines[at].replace(f" {old}", f" {new}")
        if new[0] != old[0]:  # the rules of the property go along
            lines[at] = re.sub(rf"(@\w+\((?:\w+, )?){old[0]}\b", rf"\g<1>{new[0]}", lines[at])
        return "\n".join(lines) + "\n"

    def _end(self, data: st.DataObject, graph: MemoryGraph, node: str) -> str:
        known = sorted(graph.nodes[node])[:4]
        strange = not known or data.draw(st.integers(0, 15)) == 0
        return data.draw(st.sampled_from(["nobody", "x", "1"] if strange else known))

    def _head(self, branch: str) -> str:
        head: str = self.handles[branch][1].snapshot().commit_id
        return head

    def _nothing_changed(self, branch: str, head: str, what: str) -> None:
        self.outcomes[what] += 1
        assert self._head(branch) == head
        assert len(plan_paths(self.uri)) == self.parked

    def _agree(self, branch: str, after: MemoryGraph | None = None) -> None:
        """What is stored is what the model says, and keeps every rule; take over the ids that were minted."""
        expected = self.model[branch] if after is None else after
        stored = assert_integrity(self.handles[branch][0].snapshot(), touched(self.model[branch], expected))
        assert contents(stored) == contents(expected)
        self.model[branch] = stored


TestWriteModel = pytest.mark.long(WriteMachine.TestCase)
TestWriteModel.settings = model_settings(40, stateful_step_count=STEPS, phases=(Phase.generate,))


@pytest.fixture(scope="module", autouse=True)
def another_process() -> Iterator[None]:
    """Take a process for the whole module."""
    elsewhere.append(Worker())
    yield
    elsewhere.pop().kill()
    print(dict(sorted(seen.items())))
