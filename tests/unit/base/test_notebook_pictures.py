"""Pictures of nodes and edges for notebooks: well-formed and bounded, whatever their names hold."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import omnigraph as og
from omnigraph.base.notebook import MOST_NODES, draw_entities

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=y>',
    "a\x00b\x1b",
    "\ud800",
    "]]>",
    "&amp;",
    "\u202ex",
)


def test_hostile_names_stay_text() -> None:
    values = [{"type": name, "id": name, "properties": {}} for name in HOSTILE]
    values += [{"type": name, "id": "e", "from": name, "to": "nowhere"} for name in HOSTILE]
    drawn = draw_entities(values)
    tree = ElementTree.fromstring(drawn)
    tags = {item.tag.rpartition("}")[2] for item in tree.iter()}
    assert tags <= {"svg", "g", "line", "circle", "title", "text"}
    assert "<script" not in drawn and "<img" not in drawn


def test_many_nodes_are_cut_and_counted() -> None:
    drawn = draw_entities({"type": "P", "id": str(at)} for at in range(MOST_NODES + 5))
    assert "and 5 more" in drawn
    assert draw_entities([1, None, "x", {"type": 3}]) == ""


def test_a_result_with_nodes_and_edges_shows_them(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Person { name: String @key }\nedge Knows: Person -> Person")
    people = 'insert Person { name: "<b>" } insert Person { name: "c" }'
    graph.mutate(f'query q() {{ {people} insert Knows {{ from: "<b>", to: "c" }} }}')
    wanted = "entity($p) as p, entity($k) as k, entity($o) as o"
    text = f"query q() {{ match {{ $p: Person  $p $k: knows $o }} return {{ {wanted} }} }}"
    shown = graph.query(text)._repr_html_()
    tree = ElementTree.fromstring(shown.partition("<table>")[0])
    assert [item.text for item in tree.iter("{http://www.w3.org/2000/svg}text")] == ["<b>", "c"]
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}line"))) == 1
    assert "<svg" not in graph.query("query q() { match { $p: Person } return { $p.name } }")._repr_html_()
