"""What handles and answers look like in a prompt and in a notebook."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.notebook import html_facts, html_table, html_text

HOSTILE = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"
SCHEMA = """
node Person { name: String @key  age: I64?  word: String? }
edge Knows: Person -> Person
"""
ALL = "query q() { match { $p: Person } return { $p.name as name, $p.age, $p.word } order { name } }"
TAGS = re.compile(r"</?(table|thead|tbody|tr|th|td|p|b|i|pre)>")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("reprs") / "graph", SCHEMA, actor=HOSTILE)
    people = [{"type": "Person", "data": {"name": f"p{n:03}", "age": n}} for n in range(50)]
    people.append({"type": "Person", "data": {"name": HOSTILE, "word": HOSTILE * 50}})
    graph.load(people, mode="append", message=HOSTILE)
    return graph


def shown(value: Any) -> str:
    """Return the HTML of a value, having checked that nothing in it can be more than text."""
    text: str = value._repr_html_()
    rest = TAGS.sub("", text)
    assert "<" not in rest and ">" not in rest and '"' not in rest and "'" not in rest, rest
    text.encode()
    return text


def test_everything_that_is_answered_is_short_in_a_prompt_and_harmless_in_a_notebook(
    graph: og.Graph, tmp_path: Path
) -> None:
    branch = "topic"
    graph.branches.create(branch)
    loaded = graph.load(
        [{"type": "Person", "data": {"name": "new" + HOSTILE}}], mode="append", branch=branch, message="new"
    )
    mutated = graph.mutate('query q() { insert Person { name: "zed" } }', branch=branch)
    diff = graph.diff("main", branch)
    merged = graph.branches.merge(branch, dry_run=True)
    commit = graph.commits.list(branch="main")[0]
    explained = graph.explain(
        'query q() { match { $p: Person { name: "<b>bold</b>" } } return { $p.name } }', analyze=True
    )
    result = graph.query(ALL)
    for value in (loaded, mutated, diff, merged, commit, explained, result):
        assert len(repr(value)) < 300, repr(value)
        assert "\n" not in repr(value)
        assert type(value).__name__ in repr(value)
        assert len(shown(value)) < 20_000
    assert repr(result) == f"Result(51 rows: name, p.age, p.word; commit={result.commit_id!r})"
    assert repr(loaded) == f"Load(1 nodes, 0 edges; commit={loaded.commit_id!r}, engine='local')"
    assert repr(diff) == f"Diff(from {result.commit_id} to {mutated.commit_id})"
    assert repr(merged).startswith("Merge(fast_forward: 'topic' into 'main', 2 inserted; commit=")
    assert repr(explained).startswith("Explanation(query q, 2 steps, 0 rows in ")
    assert repr(commit).startswith(f"Commit({commit.id!r}, main 2, load, ")
    assert commit.message == HOSTILE and "…" in repr(commit)
    assert "Person" in shown(diff) and "insert" in shown(diff)
    assert "&lt;b&gt;bold" in shown(explained)


def test_a_plan_of_a_migration_shows_its_steps_and_not_the_whole_schema(graph: og.Graph) -> None:
    plan = graph.schema.plan(SCHEMA.replace("word: String?", "word: String?  since: Date?"))
    assert "AddProperty" in repr(plan)
    assert len(repr(plan)) < 300


def test_a_table_of_a_result_has_no_more_rows_and_characters_than_can_be_read(graph: og.Graph) -> None:
    text = shown(graph.query(ALL))
    assert text.count("<tr>") == 21
    assert "51 rows at commit" in text and "the first 20 are shown" in text
    one = graph.query('query q() { match { $p: Person { name: "p001" } } return { $p.age } }')
    assert "1 row at commit" in shown(one) and repr(one).startswith("Result(1 row: p.age;")
    wide = ", ".join(f"$p.name as c{n}" for n in range(100))
    many = graph.query(f"query q() {{ match {{ $p: Person }} return {{ {wide} }} }}")
    assert len(repr(many)) < 200 and "(100 columns)" in repr(many)
    assert shown(many).count("<th>") == 31


def test_half_a_surrogate_pair_and_long_values_do_not_break_a_notebook() -> None:
    text = html_table(["a\ud800"], [[["x\ud800"] * 100_000], [b"\xff" * 100_000], [None], ["y" * 10_000]])
    assert len(text.encode()) < 5000 and "null" in text
    assert "\\ud800" in html_text("\ud800")
    assert "<i>" not in html_facts("<i>", [("<i>", "<i>"), ("gone", None)])


def test_a_result_is_a_sequence_of_rows(graph: og.Graph) -> None:
    result = graph.query(ALL)
    rows = result.rows
    assert result[0] == result.first() == rows[0]
    assert result[-1] == rows[-1]
    assert result[50] == rows[50]
    for part in (
        slice(2, 5),
        slice(None, 3),
        slice(-2, None),
        slice(0, 0),
        slice(None, None, 7),
        slice(9, 2),
    ):
        assert result[part].rows == rows[part]
        assert result[part].commit_id == result.commit_id
        assert result[part].to_arrow().num_rows == len(rows[part])
    assert result[::-1].rows == rows[::-1]
    with pytest.raises(IndexError, match="there is no row"):
        result[51]
    with pytest.raises(TypeError):
        result["name"]  # type: ignore[call-overload]
    again = pickle.loads(pickle.dumps(result[3:5]))
    assert (again.rows, again.commit_id) == (rows[3:5], result.commit_id)


def test_a_row_that_is_asked_for_by_a_column_is_told_where_the_columns_are(graph: og.Graph) -> None:
    with pytest.raises(TypeError, match=r"columns are in them: result\[0\]\['p.age'\]"):
        graph.query(ALL)["p.age"]  # type: ignore[call-overload]


def test_a_prepared_query_says_what_it_is(graph: og.Graph) -> None:
    text = "query many($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
    shown = repr(graph.prepare(text, name="many"))
    assert shown.startswith("PreparedQuery('many'; Graph(") and "0x" not in shown
    long = repr(graph.prepare(f"{text}  // {'x' * 500}"))
    assert long.startswith("PreparedQuery('query many($n: String) {") and "…'; Graph(" in long


def test_the_first_row_and_the_one_value(graph: og.Graph) -> None:
    count = graph.query("query q() { match { $p: Person } return { count($p) as n } }")
    assert count.scalar() == 51
    nobody = graph.query('query q() { match { $p: Person { name: "nobody" } } return { $p.age } }')
    assert nobody.first() is None
    for result in (nobody, graph.query(ALL), graph.query(ALL)[:1]):
        with pytest.raises(og.BadInput, match=r"one row with one column.*use first\(\)"):
            result.scalar()
    assert graph.query(ALL)[:1].first() == {"name": HOSTILE, "p.age": None, "p.word": HOSTILE * 50}


def test_the_first_commit_names_who_made_the_graph(graph: og.Graph, tmp_path: Path) -> None:
    assert [item.actor for item in graph.commits.list(branch="main")] == [HOSTILE, HOSTILE]
    assert graph.branches.info("main").last_writer == HOSTILE
    with pytest.raises(og.BadInput, match="actor"):
        og.init(tmp_path / "graph", SCHEMA, actor=5)  # type: ignore[arg-type]
    assert not (tmp_path / "graph").exists(), "a bad actor is found before anything is made"
    assert og.init(tmp_path / "graph", SCHEMA).commits.list()[0].actor is None


def test_an_unknown_parameter_is_an_error_with_a_hint_everywhere(graph: og.Graph) -> None:
    read = "query q($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
    write = "query q($name: String) { insert Person { name: $name } }"
    wrong = {"name": "x", "nmae": "y"}
    for call in (
        lambda: graph.query(read, wrong),
        lambda: graph.stream(read, wrong),
        lambda: graph.snapshot().query(read, wrong),
        lambda: graph.prepare(read)(wrong),
        lambda: graph.explain(read, wrong, analyze=True),
        lambda: graph.mutate(write, wrong),
    ):
        with pytest.raises(og.ParameterError, match="declares no parameter 'nmae': did you mean 'name'"):
            call()
