"""Every change of a property's type is carried out as planned, or refused with a code of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import SchemaChangeUnsupported

VALUES: dict[str, Any] = {
    "String": "x",
    "Blob": "base64:AAAA",
    "Bool": True,
    "I32": 1,
    "I64": 1,
    "U32": 1,
    "U64": 1,
    "F32": 1.5,
    "F64": 1.5,
    "DateTime": "2024-01-01T00:00:00.000Z",
    "Date": "2024-01-01",
    "enum(a, b)": "a",
    "Vector(2)": [1.0, 2.0],
    "[String]": ["x"],
    "[I32]": [1],
    "[F64]": [1.5],
    "[Date]": ["2024-01-01"],
    "[Bool]": [True],
}
WIDER = {"I32": "I64", "U32": "U64", "F32": "F64"}


def _schema(types: dict[str, str]) -> str:
    """Return a node and an edge type with a property for each type, so that one graph tries many."""
    properties = " ".join(f"{name}: {type_}" for name, type_ in types.items())
    return f"node A {{ k: String @key {properties} }}\nedge E: A -> A {{ {properties} }}"


def _names(types: list[str]) -> dict[str, str]:
    return {f"p{at}": type_ for at, type_ in enumerate(types)}


def _graph(path: Path, types: list[str], missing: str | None = None) -> og.Graph:
    graph = og.init(path, _schema({name: f"{type_}?" for name, type_ in _names(types).items()}))
    data = {name: VALUES[type_] for name, type_ in _names(types).items()}
    second = {name: value for name, value in data.items() if name != missing}
    graph.load(
        [
            {"type": "A", "data": {"k": "full", **data}},
            {"type": "A", "data": {"k": "part", **second}},
            {"edge": "E", "from": "full", "to": "part", "data": data},
            {"edge": "E", "from": "part", "to": "full", "data": {"id": "e2", **second}},
        ],
        mode="append",
    )
    return graph


def _records(graph: og.Graph) -> list[dict[str, Any]]:
    return sorted((record["data"] for record in graph.export()), key=str)  # type: ignore[index]


def test_every_type_can_become_required_and_keeps_its_values(tmp_path: Path) -> None:
    graph = _graph(tmp_path / "graph", list(VALUES))
    before = _records(graph)
    graph.schema.apply(_schema(_names(list(VALUES))))
    assert _records(graph) == before
    for table in ("node:A", "edge:E"):
        fields = {field.name: field for field in graph.snapshot().table(table).schema}
        assert not any(fields[name].nullable for name in _names(list(VALUES)))
    with pytest.raises(og.OmniError):
        graph.load([{"type": "A", "data": {"k": "new"}}], mode="append")


def test_every_widening_keeps_its_values_and_may_require_them_at_once(tmp_path: Path) -> None:
    for at, ending in enumerate(("?", "")):
        graph = _graph(tmp_path / str(at), list(WIDER))
        before = _records(graph)
        done = graph.schema.apply(_schema(_names([f"{wider}{ending}" for wider in WIDER.values()])))
        kinds = {step["kind"] for step in done.steps}
        assert kinds == {"widen_property"} | ({"require_property"} if not ending else set())
        assert _records(graph) == before
        graph.load([{"type": "A", "data": {"k": "n", "p0": 2**40, "p1": 2**40, "p2": 0.1}}], mode="append")
        added = next(data for data in _records(graph) if data.get("k") == "n")
        assert (added["p0"], added["p1"], added["p2"]) == (2**40, 2**40, 0.1)


@pytest.mark.parametrize("type_", list(VALUES))
def test_a_null_stands_in_the_way_of_required_and_its_row_is_named(tmp_path: Path, type_: str) -> None:
    graph = _graph(tmp_path / "graph", [type_], missing="p0")
    before = graph.snapshot().commit_id
    wanted = _schema(_names([type_])).replace(
        f"edge E: A -> A {{ p0: {type_}", f"edge E: A -> A {{ p0: {type_}?"
    )
    with pytest.raises(SchemaChangeUnsupported, match=r"A\.p0 is required") as caught:
        graph.schema.apply(wanted)
    assert caught.value.details["migration_code"] == "OG-MF-104"
    assert caught.value.details["problems"][0]["place"] == "node 'part'"
    only_edges = _schema({"p0": f"{type_}?"}).replace(
        f"edge E: A -> A {{ p0: {type_}?", f"edge E: A -> A {{ p0: {type_}"
    )
    with pytest.raises(SchemaChangeUnsupported, match=r"E\.p0 is required") as caught:
        graph.schema.apply(only_edges)
    assert caught.value.details["problems"][0]["place"] == "edge 'e2'"
    assert graph.snapshot().commit_id == before


@pytest.mark.parametrize("old", list(VALUES))
def test_every_other_change_is_refused_by_the_plan(tmp_path: Path, old: str) -> None:
    graph = og.init(tmp_path / "graph", _schema({"p": f"{old}?", "q": old}))
    for new in VALUES:
        if new == old or WIDER.get(old) == new:
            continue
        changed = graph.schema.plan(_schema({"p": f"{new}?", "q": old}))
        assert not changed.supported
        with pytest.raises(SchemaChangeUnsupported) as caught:
            changed.require_supported()
        assert caught.value.details["migration_code"] == "OG-MF-106"
    loosened = graph.schema.plan(_schema({"p": f"{old}?", "q": f"{old}?"}))
    assert not loosened.supported
    assert graph.schema.plan(_schema({"p": f"{old}?", "q": old})).steps == ()


def test_the_code_is_that_of_the_rule_which_is_broken(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node A { k: String @key  n: I32?  s: String? }")
    rows = [{"type": "A", "data": {"k": k, "n": n, "s": "x"}} for k, n in (("a", 1), ("b", 50))]
    graph.load(rows, mode="append")
    with pytest.raises(SchemaChangeUnsupported, match=r"node 'b': @range") as caught:
        graph.schema.apply("node A { k: String @key  n: I32  s: String  @range(n, 0..9) }")
    assert caught.value.details["migration_code"] == "OG-MF-108"
