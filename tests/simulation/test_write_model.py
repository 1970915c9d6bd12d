"""Writers against a model: random schemas, mutations, loads and schema changes on several branches.

After every step what is stored equals a plain Python graph and keeps every rule; a refused write has changed
nothing. `OMNIGRAPH_MODEL_EXAMPLES` asks for so many random histories instead of the fixed ones.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import omnigraph as og
from omnigraph.compiler.catalog.migration.plan import plan_migration
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import WriteQuery
from omnigraph.compiler.lower.bind import bind_write
from omnigraph.compiler.typecheck.mutations import default_value
from omnigraph.compiler.values.params import decode_params
from omnigraph.graph.manifest.layout import table_identity
from support.graphs import notes, plan_paths
from support.integrity_oracle import assert_integrity, violations
from support.reference_graph import Edge, MemoryGraph, whole_row
from support.reference_write import run_write

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "0"))
STEPS = 25

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
    "ld": ("[Date]?", [["2024-02-29"], []]),
    "b": ("Bool?", [True, False]),
    "q": ('String @default("dq")', ["a", "b"]),
    "m": ("I32 @default(3)", [3, 4]),
}
"""Properties that a type may have: the declaration, and values, of which some break rules."""
WRONG: dict[str, list[Any]] = {"e": ["zz"], "r": [11, -1], "c": ["A1"], "f": [1e300]}
"""The values that break a rule, where the type has it; they are written now and then."""
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
def schemas(draw: st.DrawFn, keys: tuple[str, str], cards: tuple[str, str]) -> str:
    """Draw a schema of two node and two edge types; keys, cardinalities and names stay the same."""
    lines = []
    for name, key in zip("AB", keys, strict=True):
        lines.append(f"node {name} {{ {draw(_body(dict(KEYS[key]), key, False))} }}")
    for name, card, ends in zip("EF", cards, ("A -> B", "A -> A"), strict=True):
        if name == "E" or draw(st.integers(0, 5)):
            lines.append(f"edge {name}: {ends}{card} {{ {draw(_body({}, 'none', True))} }}")
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
            f"{row.source} {row.target} {shown(row.values)}" for row in graph.edges[edge.name].values()
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
            after.edges[table.name] = {
                id_: Edge(row.source, row.target, carried(row.values))
                for id_, row in graph.edges[before.name].items()
            }
    return after


class WriteMachine(RuleBasedStateMachine):
    """Writes on branches of one graph, through two handles each."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-write-model-"))
        self.uri = str(self.folder / "graph")
        self.keys = data.draw(
            st.tuples(st.sampled_from(sorted(KEYS)), st.sampled_from(["text", "number", "none"]))
        )
        self.cards = data.draw(st.tuples(st.sampled_from(CARDS), st.sampled_from(CARDS)))
        text = data.draw(schemas(self.keys, self.cards))
        self.handles = {"main": [og.init(self.uri, text), og.open(self.uri)]}
        self.model = {"main": MemoryGraph(compile_schema(text))}
        self.outcomes: Counter[str] = Counter()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for branch in self.model:
                self._agree(branch)
            assert plan_paths(self.uri) == []
            assert notes(self.handles["main"][0]) == []
            shutil.rmtree(self.folder, ignore_errors=True)

    @precondition(lambda self: len(self.model) < 3)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(self.model)))
        name = f"b{len(self.model)}"
        data.draw(st.sampled_from(self.handles[source])).branches.create(name, source)
        self.model[name] = copy.deepcopy(self.model[source])
        self.handles[name] = [og.open(self.uri, branch=name), og.open(self.uri, branch=name)]

    @rule(data=st.data())
    def insert_or_update(self, data: st.DataObject) -> None:
        self._mutate(
            data,
            data.draw(st.lists(st.sampled_from(["node", "edge", "edge", "update"]), min_size=1, max_size=4)),
        )

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self._mutate(data, ["delete"] * data.draw(st.integers(1, 2)))

    def _mutate(self, data: st.DataObject, kinds: list[str]) -> None:
        branch, graph, before = self._pick(data)
        catalog = before.catalog
        params: dict[str, Any] = {}
        declared: list[str] = []

        def parameter(type_: str, value: Any) -> str:
            name = f"v{len(declared)}"
            declared.append(f"${name}: {type_}")
            params[name] = value
            return f"${name}"

        def value_of(table: TableType, name: str, nullable: bool = True) -> str:
            type_ = table.by_name[name].type
            options = [*candidates(data, table, name), *([None] if type_.nullable and nullable else [])]
            text = "String" if type_.enum is not None else str(type_.scalar.value)
            text = f"[{text}]" if type_.is_list else text
            return parameter(f"{text}{'?' if type_.nullable else ''}", data.draw(st.sampled_from(options)))

        statements = []
        for kind in kinds:
            tables = (
                list(catalog.edges)
                if kind == "edge"
                else list(catalog.nodes)
                if kind == "node"
                else list(catalog.tables)
            )
            table = data.draw(st.sampled_from(tables))
            if kind in ("node", "edge"):
                required = [
                    item.name for item in table.properties if not item.type.nullable and item.default is None
                ]
                chosen = (
                    data.draw(
                        st.sets(
                            st.sampled_from(sorted(table.by_name)),
                            min_size=min(2, len(table.by_name)),
                            max_size=6,
                        )
                    )
                    if table.by_name
                    else set()
                )
                parts = [f"{name}: {value_of(table, name)}" for name in sorted({*required, *chosen})]
                if kind == "edge":
                    ends = [self._end(data, before, getattr(table, side)) for side in ("source", "target")]
                    parts += [
                        f"{word}: {parameter('String', end)}"
                        for word, end in zip(("from", "to"), ends, strict=True)
                    ]
                elif not parts:
                    continue
                statements.append(f"insert {table.name} {{ {' '.join(parts)} }}")
                continue
            comparable = [item for item in table.properties if not item.type.is_list]
            if not comparable:
                continue
            where = data.draw(st.sampled_from(comparable))
            operator = data.draw(st.sampled_from(["=", "=", "!=", "<", ">=", ">"]))
            condition = f"{where.name} {operator} {value_of(table, where.name, nullable=False)}"
            if kind == "delete":
                statements.append(f"delete {table.name} where {condition}")
                continue
            key = set(getattr(table, "key", None) or ())
            settable = [item.name for item in table.properties if item.name not in key]
            if settable:
                name = data.draw(st.sampled_from(settable))
                statements.append(
                    f"update {table.name} set {{ {name}: {value_of(table, name)} }} where {condition}"
                )
        if not statements:
            return
        text = f"query q({', '.join(declared)}) {{ {' '.join(statements)} }}"
        query = compile_query(text, catalog, kind="mutation")
        assert isinstance(query, WriteQuery)
        bound = bind_write(
            query, decode_params(params, [(item.name, item.type) for item in query.parameters]), 0
        )
        after = copy.deepcopy(before)
        counts = run_write(bound, after)
        broken = violations(after, touched(before, after))
        head = graph.snapshot().commit_id
        try:
            done = graph.mutate(text, params)
        except og.ValidationError:
            assert broken, f"refused without reason: {text} {params}"
            self._refused(branch, head, "mutation")
            return
        assert not broken, f"{broken} let in by {text} {params}"
        assert {"affected_nodes": done.affected_nodes, "affected_edges": done.affected_edges} == counts
        assert (done.commit_id is None) == (graph.snapshot().commit_id == head)
        self.outcomes["mutation"] += 1
        self._agree(branch, after)

    @rule(data=st.data(), mode=st.sampled_from(["append", "append", "merge", "merge", "overwrite"]))
    def load(self, data: st.DataObject, mode: str) -> None:
        branch, graph, before = self._pick(data)
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
            if not getattr(table, "key", None) and data.draw(st.booleans()):
                values["id"] = data.draw(st.sampled_from(["i1", "i2"]))
            if isinstance(table, NodeType):
                records.append({"type": table.name, "data": values})
                if table.key and not wrong:
                    coming.load(records[-1:], "merge")
            else:
                ends = [self._end(data, coming, getattr(table, side)) for side in ("source", "target")]
                records.append({"edge": table.name, "from": ends[0], "to": ends[1], "data": values})
        reasons = ["a bad record"] if wrong else self._reasons(before, records, mode)
        after = copy.deepcopy(before)
        if not reasons:
            after.load(records, mode)
            reasons = violations(after, touched(before, after))
        head = graph.snapshot().commit_id
        try:
            done = graph.load(records, mode=mode)
        except (og.ValidationError, og.KeyConflict):
            assert reasons, f"refused without reason: {mode} {records}"
            self._refused(branch, head, "load")
            return
        assert not reasons, f"{reasons} let in by {mode} {records}"
        assert done.nodes == Counter(item["type"] for item in records if "type" in item)
        assert done.edges == Counter(item["edge"] for item in records if "edge" in item)
        self.outcomes["load"] += 1
        self._agree(branch, after)

    @rule(data=st.data())
    def change_schema(self, data: st.DataObject) -> None:
        branch, graph, before = self._pick(data)
        text = data.draw(schemas(self.keys, self.cards))
        plan = plan_migration(before.catalog, text)
        after = migrated(before, plan.target) if plan.supported else before
        broken = violations(after) if plan.supported else ["unsupported"]
        head = graph.snapshot().commit_id
        try:
            done = graph.schema.apply(text)
        except og.SchemaChangeUnsupported:
            assert broken, f"refused without reason: {text}"
            self._refused(branch, head, "schema")
            return
        assert not broken, f"{broken} let in by {text}"
        assert done.applied == bool(plan.steps) == (graph.snapshot().commit_id != head)
        self.outcomes["schema"] += 1
        self._agree(branch, after)

    def _pick(self, data: st.DataObject) -> tuple[str, og.Graph, MemoryGraph]:
        branch = data.draw(st.sampled_from(sorted(self.model)))
        return branch, data.draw(st.sampled_from(self.handles[branch])), self.model[branch]

    def _end(self, data: st.DataObject, graph: MemoryGraph, node: str) -> str:
        known = sorted(graph.nodes[node])[:4]
        strange = not known or data.draw(st.integers(0, 15)) == 0
        return data.draw(st.sampled_from(["nobody", "x", "1"] if strange else known))

    def _reasons(self, before: MemoryGraph, records: list[Any], mode: str) -> list[str]:
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
                elif "id" in item["data"]:
                    ids.append(item["data"]["id"])
            twice = len(set(ids)) < len(ids)
            has_key = isinstance(table, NodeType) and table.key is not None
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

    def _refused(self, branch: str, head: str, kind: str) -> None:
        """A refused write changed nothing."""
        self.outcomes[f"refused {kind}"] += 1
        assert self.handles[branch][1].snapshot().commit_id == head
        assert plan_paths(self.uri) == []

    def _agree(self, branch: str, after: MemoryGraph | None = None) -> None:
        """What is stored is what the model says, and keeps every rule; take over the ids that were minted."""
        expected = self.model[branch] if after is None else after
        stored = assert_integrity(self.handles[branch][0].snapshot(), touched(self.model[branch], expected))
        assert contents(stored) == contents(expected)
        self.model[branch] = stored


TestWriteModel = pytest.mark.long(WriteMachine.TestCase)
TestWriteModel.settings = settings(
    max_examples=EXAMPLES or 200,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=not EXAMPLES,
    database=None,
    print_blob=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
