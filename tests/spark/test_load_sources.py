"""Whatever can be loaded in process can be loaded on Spark, with the same outcome."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.base.settings import Settings
from omnigraph.execution.engine import choose_engine
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.sources.sources import open_source, open_tables
from omnigraph.graph.write.integrity.blob_sources import BlobSources
from omnigraph.pipeline.engine import SparkEngine
from omnigraph.pipeline.steps.split import split_source
from support.engines import both

SCHEMA = """
node Person { name: String @key  age: I32?  born: Date?  level: I32 @default(1)  photo: Blob? }
edge Knows: Person -> Person { weight: F32? }
"""
NAMES = [f"p{i}" for i in range(400)]
PEOPLE = pa.table({"name": NAMES, "age": [i % 90 for i in range(400)], "level": [2] * 400})
WRONG = pa.table({"name": [*NAMES[:300], "p7"], "age": [*range(100), 2**40, *range(200)], "level": [2] * 301})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "graph"
    og.init(root, SCHEMA).load([{"type": "Person", "data": {"name": "p1", "age": 1}}], mode="append")
    return root


@pytest.fixture
def folder(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNIGRAPH_SPARK_SPLIT_BYTES", "700")
    return tmp_path


def _write(folder: Path, format: str, rows: pa.Table) -> Path:
    path = folder / f"people.{format}"
    if format == "parquet":
        pq.write_table(rows, path, row_group_size=60)
    elif format == "csv":
        pyarrow.csv.write_csv(rows, path)
    elif format == "orc":
        pyarrow.orc.write_table(rows, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    return path


@pytest.mark.parametrize("rows", [PEOPLE, WRONG], ids=["right", "wrong"])
@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_files_of_columns(format: str, rows: pa.Table, template: Path, folder: Path) -> None:
    path = _write(folder, format, rows)
    local, spark = both(template, folder, path, mode="merge", type="Person")
    assert spark == local
    local, spark = both(template, folder, path, mode="patch", type="Person")
    assert spark == local


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("name,age\nbob,\ncyd,x\n", "b.csv, line 3: Person.age needs an integer"),
        ("name,born\nbob,2020-01-02\n", None),
        ("name,colour\nbob,red\n", "b.csv, line 2: Person has no property 'colour'"),
        ("name,age\nbob,1\n\ncyd,1,2\n", "b.csv, line 4: the row has 3 cells, the header 2"),
    ],
    ids=["a wrong cell", "another column", "no such column", "a ragged row"],
)
def test_several_files_have_their_own_formats_and_columns(
    more: str, told: str | None, template: Path, folder: Path
) -> None:
    (folder / "a.csv").write_text("name,age\nada,1\n")
    (folder / "b.csv").write_text(more)
    (folder / "c.json").write_text('{"name": "dan", "born": "1999-12-31"}\n\n{"name": "eve"}')
    pq.write_table(pa.table({"name": ["fay"], "level": [7]}), folder / "d.parquet")
    local, spark = both(template, folder, str(folder / "?.[cjp]*"), mode="append", type="Person")
    assert spark == local
    if told is None:
        assert spark[0].nodes == {"Person": 5}
    else:
        assert told in spark[1]


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_a_mapping_that_names_a_column_that_is_not_there(format: str, template: Path, folder: Path) -> None:
    path = _write(folder, format, PEOPLE)
    local, spark = both(template, folder, path, mode="merge", type="Person", mapping={"years": "age"})
    assert spark == local
    assert spark[0] is og.BadInput
    assert f"the mapping names the column 'years', which {path} does not have" in spark[1]


def test_wrong_rows_of_json_are_put_away_as_records(template: Path, folder: Path) -> None:
    path = folder / "people.json"
    path.write_text('{"who": "ada", "age": 1.5}\n[]\n\n{"who": "bob"}\n{"who": "cyd", "name": "c"}\nno')
    options = {"mode": "merge", "on_error": "quarantine", "rejected_to": folder / "rejected"}
    local, spark = both(template, folder, path, type="Person", mapping={"who": "name"}, **options)
    assert spark == local
    assert (spark[0].nodes, spark[0].rejected) == ({"Person": 1}, 4)


@pytest.mark.parametrize(
    "rows", ["ada,x,1\nbob,y,1\n", "ada,x,1\n02139,7,1\n"], ids=["all wrong", "one wrong"]
)
def test_an_overwrite_empties_no_type_whose_rows_are_all_rejected(
    rows: str, template: Path, folder: Path
) -> None:
    (folder / "a.csv").write_text("name,age,level\n")
    (folder / "b.csv").write_text(f"name,age,level\n{rows}")
    options = {"mode": "overwrite", "on_error": "quarantine", "rejected_to": folder / "rejected"}
    local, spark = both(template, folder, str(folder / "*.csv"), type="Person", **options)
    assert spark == local
    assert spark[0].nodes == ({} if "y" in rows else {"Person": 1})


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: [{"type": "Person", "data": {"name": name}} for name in NAMES], id="list"),
        pytest.param(lambda: ({"type": "Person", "data": {"name": name}} for name in NAMES), id="generator"),
        pytest.param(
            lambda: [{"type": "Person", "data": {"name": "x", "born": date(2020, 1, 2)}}], id="dates"
        ),
        pytest.param(lambda: [{"type": "Person", "data": {"name": "x", "photo": b"\x00\x01"}}], id="bytes"),
        pytest.param(lambda: [], id="nothing"),
    ],
)
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_records_of_the_program(source: Callable[[], Any], mode: str, template: Path, folder: Path) -> None:
    local, spark = both(template, folder, source, mode=mode)
    assert spark == local


@pytest.mark.parametrize("rows", [PEOPLE, WRONG], ids=["right", "wrong"])
def test_tables_of_the_program(rows: pa.Table, template: Path, folder: Path) -> None:
    local, spark = both(template, folder, rows, mode="merge", type="Person")
    assert spark == local


def test_packed_files_are_one_task_each(template: Path, folder: Path) -> None:
    lines = [json.dumps({"type": "Person", "data": {"name": name}}) for name in NAMES]
    for number in range(2):
        with gzip.open(folder / f"{number}.ndjson.gz", "wt") as file:
            file.write("\n".join([*lines[number * 200 : number * 200 + 200], "not json"]))
    source = str(folder / "*.gz")
    assert len(split_source(open_source(source), 2, 700)) == 2
    options = {"mode": "merge", "on_error": "quarantine", "rejected_to": folder / "rejected"}
    local, spark = both(template, folder, source, **options)
    assert spark == local
    assert spark[0].rejected == 2


def test_blobs_are_merged_over_stored_rows(template: Path, folder: Path) -> None:
    records = [{"type": "Person", "data": {"name": name, "photo": name.encode()}} for name in ("p1", "new")]
    local, spark = both(template, folder, records, mode="merge")
    assert spark == local


def test_tasks_read_blobs_from_where_the_driver_was_told(session: Any, template: Path, folder: Path) -> None:
    for name in ("open", "shut"):
        (folder / name).mkdir()
        (folder / name / "a.bin").write_bytes(name.encode())
    shutil.copytree(template, folder / "graph")
    graph = og.open(folder / "graph")
    graph.blob_sources = BlobSources((f"file://{folder}/open/",), "the cluster")

    def load(name: str) -> None:
        data = {"name": "new", "photo": f"file://{folder}/{name}/a.bin"}
        graph.load([{"type": "Person", "data": data}], mode="merge", engine="spark")

    load("open")
    assert graph.blob("node", "Person", "new", "photo").read() == b"open"
    with pytest.raises(og.ValidationError, match="in no folder of the cluster"):
        load("shut")


def test_a_data_frame_is_loaded_where_it_is(session: Any, template: Path, folder: Path) -> None:
    frame = session.range(0, 300, 1, 3).selectExpr("concat('p', id) as who", "cast(id % 90 as int) as age")
    options = {"mode": "merge", "type": "Person", "mapping": {"who": "name"}}
    local, spark = both(template, folder, frame, **options)
    assert spark == local
    edges = session.createDataFrame(
        [("p1", "p2", 0.5), ("p3", "nobody", 1.0)], "a string, b string, weight float"
    )
    options = {"mode": "append", "type": "Knows", "mapping": {"a": "from", "b": "to"}}
    local, spark = both(folder / "spark", folder / "edges", edges, **options)
    assert spark == local
    assert "nobody" in spark[1]


def test_auto_takes_spark_for_large_files_and_for_data_frames_only(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.ndjson"
    path.write_text('{"type":"Person","data":{"name":"ada"}}\n')
    engine = SparkEngine(Settings(spark_load_bytes=10))
    assert _takes_spark(engine, open_source(path))
    assert not _takes_spark(SparkEngine(Settings()), open_source(path))
    assert not _takes_spark(engine, open_source([{"type": "Person", "data": {"name": "ada"}}]))
    assert _takes_spark(SparkEngine(Settings()), open_tables(session.range(1), "Person", None))


def _takes_spark(engine: SparkEngine, source: LoadSource) -> bool:
    return choose_engine("auto", lambda: engine.estimate(source), engine.availability).is_spark


def test_a_file_that_cannot_be_read_is_told_at_once(template: Path, folder: Path) -> None:
    (folder / "broken.gz").write_bytes(b"\x1f\x8b not gzip at all")
    local, spark = both(template, folder, folder / "broken.gz", mode="append")
    assert spark == local
    assert spark[0] is og.BadInput


MAPPING = """
[[node]]
type = "Person"
[node.properties]
name = "who"
age = { column = "years", cast = true }
level = { expression = "length(who) % 1 + 2" }

[[edge]]
type = "Knows"
when = { expression = "friend is not null" }
from = "who"
to = { expression = '"p" + to_string(friend)' }
"""
MAPPED = pa.table(
    {
        "who": NAMES,
        "years": [str(i % 90) for i in range(400)],
        "friend": [i // 2 if i % 3 else None for i in range(400)],
    }
)
MAPPED_WRONG = MAPPED.slice(0, 200).set_column(
    1, "years", pa.array([*map(str, range(150)), "old", *map(str, range(49))])
)


@pytest.mark.parametrize("rows", [MAPPED, MAPPED_WRONG], ids=["right", "wrong"])
@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_rows_of_any_columns_through_a_mapping_file(
    format: str, rows: pa.Table, template: Path, folder: Path
) -> None:
    mapping = folder / "m.toml"
    mapping.write_text(MAPPING)
    path = _write(folder, format, rows)
    local, spark = both(template, folder, path, mode="merge", mapping=mapping)
    assert spark == local
    if rows is MAPPED:
        assert spark[0].edges == {"Knows": 266}
        return
    options = {"mode": "merge", "on_error": "quarantine", "rejected_to": folder / "rejected"}
    local, spark = both(template, folder, path, mapping=mapping, **options)
    assert spark == local
    assert spark[0].nodes == {"Person": 199}


DISTINCT = MAPPING.replace('type = "Person"', 'type = "Person"\ndistinct = true')
REPEATED = pa.table(
    {
        "who": [f"p{i % 50}" for i in range(400)],
        "years": [str(i % 50) for i in range(400)],
        "friend": [i % 7 for i in range(400)],
    }
)
CONTRADICTING = REPEATED.set_column(
    1, "years", pa.array([str(i % 50 if i != 321 else 9) for i in range(400)])
)


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_nodes_that_rows_of_several_tasks_make_are_one_where_the_rule_says_distinct(
    mode: str, tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> None:
    empty = tmp_path_factory.mktemp("empty") / "graph"
    og.init(empty, SCHEMA)
    mapping = folder / "m.toml"
    mapping.write_text(DISTINCT)
    path = _write(folder, "parquet", REPEATED)
    local, spark = both(empty, folder, path, mode=mode, mapping=mapping)
    assert spark == local
    assert (spark[0].nodes, spark[0].edges) == ({"Person": 50}, {"Knows": 400})
    if mode == "append":
        path = _write(folder, "parquet", CONTRADICTING)
        local, spark = both(empty, folder, path, mode=mode, mapping=mapping)
        assert spark == local
        assert "row 322" in spark[1]
        options = {"on_error": "quarantine", "rejected_to": folder / "rejected"}
        local, spark = both(empty, folder, path, mode=mode, mapping=mapping, **options)
        assert spark == local
        assert (spark[0].nodes, spark[0].rejected) == ({"Person": 50}, 1)


def test_tables_of_spark_through_a_mapping_file(template: Path, folder: Path, session: Any) -> None:
    mapping = folder / "m.toml"
    mapping.write_text(MAPPING)
    session.createDataFrame(
        MAPPED.to_pylist(), "who string, years string, friend int"
    ).createOrReplaceTempView("t")
    local, spark = both(template, folder, lambda: session.table("t"), mode="merge", mapping=mapping)
    assert spark == local
    assert spark[0].edges == {"Knows": 266}


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_relative_path_means_the_folder_of_the_program_and_not_of_the_workers(
    format: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(folder, format, PEOPLE)
    monkeypatch.chdir(folder)
    records = Path("records.ndjson")
    records.write_text(
        '{"type": "Person", "data": {"name": "eve"}}\n{"type": "Person", "data": {"nam": 1}}\n'
    )
    graph = og.init(folder / "graph", SCHEMA)
    assert graph.load(f"people.{format}", mode="append", type="Person", engine="spark").nodes == {
        "Person": 400
    }
    with pytest.raises(og.OmniError, match=r"^records\.ndjson:2"):
        graph.load(records, mode="append", engine="spark")
    Path("torn.ndjson.gz").write_bytes(gzip.compress(records.read_bytes())[:-9])
    with pytest.raises(og.BadInput, match=r"^torn\.ndjson\.gz cannot be read"):
        graph.load("torn.ndjson.gz", mode="append", engine="spark")
