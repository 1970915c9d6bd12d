"""Splits of a file are its lines, each once, in order; hashes and runs say what they stand for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.execution.load.sources.sources import open_source
from omnigraph.graph.model.hashing import hash_values
from omnigraph.pipeline.steps import split
from omnigraph.pipeline.workers.outcome import Runs
from omnigraph.storage.files.inputs import read_range

_in_a_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(
    lines=st.lists(st.text("ab{é}\r ", max_size=12), max_size=20),
    ends=st.booleans(),
    parts=st.integers(1, 9),
    piece=st.integers(1, 20),
)
@_in_a_folder
def test_ranges_of_a_file_hold_every_line_once(
    lines: list[str], ends: bool, parts: int, piece: int, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    whole = ("\n".join(lines) + ("\n" if ends else "")).encode()
    path.write_bytes(whole)
    cuts = [len(whole) * part // parts for part in range(parts + 1)]
    found = [b"".join(read_range(str(path), {}, piece, *cut)) for cut in pairwise(cuts)]
    assert b"".join(found) == whole
    assert all(part.endswith(b"\n") for part in found[:-1] if part and whole.endswith(b"\n"))


def test_a_file_is_cut_into_a_few_parts_for_every_core_and_never_into_larger_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split, "_MIN_SPLIT_BYTES", 10)
    path = tmp_path / "lines.ndjson"
    path.write_bytes(b"x\n" * 400)
    packed = tmp_path / "packed.ndjson.gz"
    packed.write_bytes(b"")
    source = open_source([path, packed])
    parts = split.split_source(source, cores=2, largest=1_000_000)
    assert [part.file for part in parts] == [*[0] * (len(parts) - 1), 1]
    assert len(parts) - 1 == 8
    assert len(split.split_source(source, cores=2, largest=20)) - 1 == 40


@given(st.lists(st.text(max_size=30)), st.integers(0, 2**64 - 1))
def test_equal_texts_have_equal_hashes_and_others_have_others(texts: list[str], key: int) -> None:
    array = pa.array(["offset", *texts], pa.string()).slice(1)
    hashes = hash_values(array, key)
    assert len(hashes) == len(texts)
    assert len(set(hashes.tolist())) == len(set(texts))
    again = hash_values(
        pa.chunked_array([array.slice(0, len(texts) // 2), array.slice(len(texts) // 2)]), key
    )
    assert (again == hashes).all()


def test_hashes_of_similar_texts_do_not_collide_and_follow_the_key() -> None:
    texts = pa.array([f"{head}{number}" for head in ("p", "q", "", "long enough to be many words ")
                      for number in range(100_000)])  # fmt: skip
    assert len(np.unique(hash_values(texts, 1))) == len(texts)
    assert not (hash_values(texts, 1) == hash_values(texts, 2)).any()


@given(st.sets(st.integers(0, 50)))
def test_runs_stand_for_their_numbers(numbers: set[int]) -> None:
    ordered = np.array(sorted(numbers), dtype=np.int64)
    assert Runs.of(ordered).places().tolist() == ordered.tolist()
