"""A load on Spark and a load in process are one load: the same graphs, the same errors, the same lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from support.engines import both

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique  born: Date?  @range(age, 0..150) }
node Note { text: String  level: I32 @default(1)  tags: [String]? }
edge Knows: Person -> Person @card(0..2) { since: Date? }
edge Wrote: Person -> Note { @unique(src, dst) }
edge Likes: Person -> Person { @key(src, dst) }
"""
STORED: list[dict[str, Any]] = [
    {"type": "Person", "data": {"name": "ada", "age": 36, "mail": "a@x"}},
    {"type": "Person", "data": {"name": "bob", "mail": "b@x"}},
    {"type": "Note", "data": {"id": "n1", "text": "first"}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1"}},
    {"edge": "Wrote", "from": "ada", "to": "n1", "data": {"id": "w1"}},
    {"edge": "Likes", "from": "ada", "to": "bob"},
]
NAMES = ("ada", "bob", "cyd", "dan", "eve", "ünal")
NOTES = ("n1", "n2", "n3")
MODES = ("append", "merge", "patch", "overwrite")


def _rarely(strategy: st.SearchStrategy[Any], wrong: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 19).flatmap(lambda number: wrong if number == 0 else strategy)


_person = st.fixed_dictionaries(
    {"name": _rarely(st.sampled_from(NAMES), st.sampled_from([None, 7, ""]))},
    optional={
        "age": _rarely(st.integers(0, 150), st.sampled_from([-1, 300, "old", 2**40])),
        "mail": st.sampled_from(["a@x", "b@x", "c@x", "d@x", None]),
        "born": _rarely(st.just("1990-01-31"), st.sampled_from(["1990-02-31", 3])),
    },
).map(lambda data: {"type": "Person", "data": data})
_note = st.fixed_dictionaries(
    {"text": _rarely(st.text(max_size=4), st.none())},
    optional={
        "id": st.sampled_from(NOTES),
        "level": st.integers(0, 3),
        "tags": st.lists(st.text(max_size=3)),
    },
).map(lambda data: {"type": "Note", "data": data})


def _edge(name: str, ends: tuple[str, ...], ids: tuple[str, ...]) -> st.SearchStrategy[Any]:
    data = st.fixed_dictionaries({}, optional={"id": st.sampled_from(ids)})
    sources = _rarely(st.sampled_from(NAMES), st.just("nobody"))
    return st.tuples(sources, st.sampled_from(ends), data).map(
        lambda found: {"edge": name, "from": found[0], "to": found[1], "data": found[2]}
    )


_record = st.one_of(
    *(_person, _person, _note, _edge("Knows", NAMES, ("k1", "k2")), _edge("Wrote", NOTES, ("w1", "w2"))),
    _edge("Likes", NAMES, ("l1", '["ada","bob"]')),
).map(lambda record: json.dumps(record, ensure_ascii=False))
_line = _rarely(
    _record,
    st.sampled_from(
        ['{"type":"Robot","data":{}}', "not json", '{"type":"Person","data":{"aeg":1}}', "", "  "]
    ),
)
_lines = st.lists(_line, max_size=40)
_unique_lines = _lines.map(lambda lines: list({_identity(line): line for line in lines}.values()))


def _identity(line: str) -> str:
    """Return what two lines must not share for both to be right."""
    try:
        record = json.loads(line)
        return str(record["data"].get("name") or record["data"].get("id") or line)
    except (ValueError, KeyError, TypeError):
        return line


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with something stored in every table."""
    root = tmp_path_factory.mktemp("template") / "graph"
    og.init(root, SCHEMA).load(STORED, mode="append")
    return root


@pytest.fixture
def folder(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with splits so small that every few lines are a task of their own."""
    monkeypatch.setenv("OMNIGRAPH_SPARK_SPLIT_BYTES", "700")
    return tmp_path


_settings = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@given(lines=_lines | _unique_lines)
@_settings
def test_both_engines_make_the_same_graph_or_tell_the_same_problems(
    mode: str, lines: list[str], template: Path, folder: Path
) -> None:
    path = folder / "records.ndjson"
    path.write_text("\n".join(lines) + "\n")
    local, spark = both(template, folder, path, mode=mode)
    assert spark == local


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@given(lines=_lines)
@_settings
def test_both_engines_put_the_same_records_into_quarantine(
    mode: str, lines: list[str], template: Path, folder: Path
) -> None:
    path = folder / "records.ndjson"
    path.write_text("\n".join(lines))
    options = {"mode": mode, "on_error": "quarantine", "rejected_to": folder / "rejected.ndjson"}
    local, spark = both(template, folder, path, **options)
    assert spark == local


@pytest.mark.parametrize("mode", MODES)
def test_many_records_of_many_types_across_many_splits(mode: str, template: Path, folder: Path) -> None:
    people = [f'{{"type":"Person","data":{{"name":"p{i}","age":{i % 90}}}}}' for i in range(300)]
    knows = [f'{{"edge":"Knows","from":"p{i}","to":"p{(i * 7) % 300}"}}' for i in range(300)]
    mixed = [line for pair in zip(knows, people, strict=True) for line in pair]
    (folder / "a.ndjson").write_text("\n".join(mixed[:200]) + "\n\n")
    (folder / "b.ndjson").write_text("\n".join(mixed[200:]))
    local, spark = both(template, folder, str(folder / "*.ndjson"), mode=mode)
    assert spark == local
    if mode != "overwrite":
        assert spark[0].nodes == {"Person": 300}


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"Person","data":{"name":"p7"}}',
        '{"type":"Person","data":{"name":"new","age":999}}',
        '{"type":"Person","data":{"name":"new","mail":"a@x"}}',
        '{"edge":"Knows","from":"p1","to":"nobody"}',
        '{"type":"Robot","data":{}}',
        '{"type":"Person","data":{"name":"new"',
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_one_wrong_line_far_into_a_file_is_told_with_its_number(
    line: str, mode: str, template: Path, folder: Path
) -> None:
    lines = [f'{{"type":"Person","data":{{"name":"p{i}"}}}}' for i in range(200)]
    lines[150:150] = ["", line]
    (folder / "a.ndjson").write_text("\n".join(['{"type":"Note","data":{"text":"n"}}'] * 30))
    (folder / "b.ndjson").write_text("\n".join(lines))
    paths = [folder / "a.ndjson", folder / "b.ndjson"]
    local, spark = both(template, folder, paths, mode=mode)
    assert spark == local
    if issubclass(spark[0], og.OmniError) and mode != "overwrite":
        assert f"{paths[1]}:152" in spark[1]


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@given(lines=_lines | _unique_lines)
@_settings
def test_keys_that_stay_in_spark_are_judged_as_keys_in_memory_are(
    mode: str, lines: list[str], template: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_DRIVER_KEYS", "0")
    path = folder / "records.ndjson"
    path.write_text("\n".join(lines) + "\n")
    local, spark = both(template, folder, path, mode=mode)
    assert spark == local


def test_a_merge_that_outgrows_the_driver_replaces_rows_by_a_join_on_the_workers(
    tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_DRIVER_KEYS", "0")
    monkeypatch.setenv("OMNIGRAPH_SPARK_SPLIT_BYTES", "700")
    root = tmp_path / "template"
    graph = og.init(root, "node Person { name: String @key  age: I32? }")
    for first in (0, 40, 80):
        names = range(first, first + 40)
        graph.load([{"type": "Person", "data": {"name": f"p{i}", "age": i}} for i in names], mode="append")
    graph.ensure_indices()
    before = graph.snapshot().commit_id
    path = tmp_path / "people.ndjson"  # all of the second fragment, some of the third, and others
    path.write_text(
        "".join(
            f'{{"type":"Person","data":{{"name":"p{i}","age":7}}}}\n'
            for i in [*range(40, 85), *range(200, 240)]
        )
    )

    def told(engine: str) -> tuple[Any, ...]:
        copy = og.open(shutil.copytree(root, tmp_path / engine))
        with monkeypatch.context() as patched:
            if engine == "spark":
                patched.delattr("omnigraph.storage.tables.staging.StagedTable.merge")
            copy.load(path, mode="merge", engine=engine)
        rows = copy.snapshot().table("node:Person").scan(["name", "age"]).to_pylist()
        found = sorted((item.id, item.op) for item in copy.diff(before, copy.snapshot()))
        return sorted((row["name"], row["age"]) for row in rows), found

    assert told("spark") == told("local")
