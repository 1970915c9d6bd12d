"""Files that a load reads: packed, by globs, lists and addresses, from a bucket; and lines without end."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import omnigraph as og
from omnigraph.execution.load.parse.strict_json import MAX_LINE_BYTES
from omnigraph.execution.load.sources.line_files import whole_lines
from support.s3 import S3
from support.stored_graph import read_back

SCHEMA = "node A { k: String @key }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def _lines(*keys: str) -> bytes:
    return b"".join(json.dumps({"type": "A", "data": {"k": key}}).encode() + b"\n" for key in keys)


def _zst(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def _keys(graph: og.Graph) -> set[str]:
    return set(read_back(graph.snapshot()).nodes["A"])


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": _zst}


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_may_be_packed(graph: og.Graph, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.jsonl{ending}"
    file.write_bytes(PACKED[ending](_lines("1", "2")) + PACKED[ending](_lines("3")))
    assert graph.load(file, mode="append").nodes == {"A": 3}
    assert graph.load(f"file://{file}", mode="merge").nodes == {"A": 3}
    assert _keys(graph) == {"1", "2", "3"}


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("harm", ["cut", "garbage", "spoilt"])
def test_a_packed_file_that_is_damaged_is_refused_whole(
    graph: og.Graph, tmp_path: Path, ending: str, harm: str
) -> None:
    good = PACKED[ending](_lines(*map(str, range(1000))))
    middle = len(good) // 2
    spoilt = good[:middle] + bytes(byte ^ 255 for byte in good[middle : middle + 8]) + good[middle + 8 :]
    file = tmp_path / f"a.jsonl{ending}"
    file.write_bytes({"cut": good[:middle], "garbage": b"no such thing", "spoilt": spoilt}[harm])
    with pytest.raises((og.BadInput, og.ValidationError), match=r"a\.jsonl"):
        graph.load(file, mode="append")
    assert graph.snapshot().version == 1
    assert graph.load([{"type": "A", "data": {"k": "1"}}], mode="append").commit_id


def test_lists_and_globs_name_every_file_once(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for at, name in enumerate(["a.jsonl", "b.jsonl", "deep/c.jsonl"]):
        (tmp_path / name).write_bytes(_lines(str(at)))
    done = graph.load([tmp_path / "a.jsonl", str(tmp_path / "**/*.jsonl")], mode="append")
    assert done.nodes == {"A": 3}
    for wrong in ("none.jsonl", "*.nothing", "http://host/a.jsonl", ["a.jsonl", "none.jsonl"]):
        with pytest.raises(og.BadInput):
            graph.load(wrong, mode="append")


@pytest.mark.s3
def test_a_bucket_is_read_like_a_folder(s3: S3, tmp_path: Path) -> None:
    store = s3.store("in")
    store.put("a.jsonl", _lines("1"))
    store.put("b.jsonl.gz", gzip.compress(_lines("2")))
    store.put("deep/c.jsonl.zst", _zst(_lines("3")))
    store.put("other.txt", b"no records")
    pa.parquet.write_table(pa.table({"k": ["4"]}), tmp_path / "d.parquet")
    store.put("d.parquet", (tmp_path / "d.parquet").read_bytes())
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    root = f"{s3.uri}/in"
    assert graph.load(f"{root}/a.jsonl", mode="append").nodes == {"A": 1}
    assert graph.load(f"{root}/*.jsonl*", mode="merge").nodes == {"A": 2}
    assert graph.load([f"{root}/**/*.zst", f"{root}/[ab].jsonl"], mode="merge").nodes == {"A": 2}
    assert graph.load(f"{root}/d.parquet", mode="append", type="A").nodes == {"A": 1}
    assert _keys(graph) == {"1", "2", "3", "4"}
    for wrong in ("none.jsonl", "*.none", "", "none.parquet"):
        with pytest.raises(og.BadInput):
            graph.load(f"{root}/{wrong}", mode="append", type="A" if wrong.endswith("parquet") else None)


@pytest.mark.s3
def test_rejected_records_of_a_bucket_come_to_a_local_file(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    s3.store("in").put("a.jsonl", _lines("1") + b"nonsense\n")
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    done = graph.load(f"{s3.uri}/in/a.jsonl", mode="append", on_error="quarantine")
    assert (done.nodes, done.rejected, done.rejected_path) == ({"A": 1}, 1, "a.jsonl.rejected")


def test_files_of_columns_that_are_none_are_refused(graph: og.Graph, tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv"):
        (tmp_path / name).write_bytes(b"\x00\xff no table\n1,2,3\n")
        with pytest.raises(og.OmniError):
            graph.load(tmp_path / name, mode="append", type="A")
    for name, key in (("x.parquet", "x"), ("y.parquet", "y")):
        pa.parquet.write_table(pa.table({"k": [key]}), tmp_path / name)
    both = [tmp_path / "x.parquet", tmp_path / "y.parquet"]
    assert graph.load(both, mode="append", type="A").nodes == {"A": 2}


def test_blocks_hold_whole_lines_and_only_the_beginning_of_a_line_without_end() -> None:
    pieces = [b"ab", b"c\nde\nf", b"", b"g", b"\n\n", b"h"]
    assert list(whole_lines(pieces)) == [b"abc\nde\n", b"fg\n\n", b"h"]
    endless = [b"first\n", *[b"x" * 2**20] * 100, b"rest\nlast\n", b"end"]
    blocks = list(whole_lines(endless))
    assert [block[:6] for block in blocks] == [b"first\n", b"xxxxxx", b"last\n", b"end"]
    assert len(blocks[1]) == MAX_LINE_BYTES + 2
    assert [len(block) for block in whole_lines([b"x" * 2**20] * 100)] == [MAX_LINE_BYTES + 2]


PEAK = """
import sys
import omnigraph as og
graph = og.open(sys.argv[1])
try:
    graph.load(sys.argv[2], mode="append", engine="local")
except og.ValidationError as error:
    print(str(error)[-300:])
done = graph.load(sys.argv[2], mode="append", on_error="quarantine", engine="local")
print(done.nodes, done.rejected)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) // 1024)
"""


@pytest.mark.long
@pytest.mark.parametrize("ending", PACKED)
def test_a_line_of_half_a_gigabyte_is_refused_with_little_memory(
    graph: og.Graph, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"a.jsonl{ending}"
    zeros = b"0" * 2**20
    with gzip.open(file, "wb", 1) if ending == ".gz" else file.open("wb") as target:
        pack = _zst if ending == ".zst" else bytes
        target.write(pack(_lines("1") + b'{"type": "A", "data": {"k": "'))
        for _ in range(512):
            target.write(pack(zeros))
        target.write(pack(b'"}}\n' + _lines("2")))
    code = [sys.executable, "-c", PEAK, graph.uri, str(file)]
    said = subprocess.run(code, capture_output=True, text=True, check=True, timeout=120).stdout.split("\n")
    assert f"{file}:2: the line has more than 33554432 bytes" in said[0]
    assert said[1] == "{'A': 2} 1"
    assert int(said[2]) < 600
    rejected = Path(f"{file}.rejected").read_text().splitlines()
    assert len(rejected) == 1
    assert len(rejected[0]) < 1000
