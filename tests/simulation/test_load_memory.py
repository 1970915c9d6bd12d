"""The memory that a load needs follows its batches, not its file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCHEMA = "node Page { url: String @key  body: String  n: I64 }\nedge Link: Page -> Page"
LOAD = """
import sys
import omnigraph as og

def highest():
    # Not ru_maxrss: that starts at the size of the process that started this one.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))

graph = og.init(sys.argv[1], sys.argv[2])
graph.load([{"type": "Page", "data": {"url": "u", "body": "b", "n": 1}}], mode="append")
before = highest()
done = graph.load(sys.argv[3], mode=sys.argv[4])
print(before, highest(), done.nodes["Page"])
"""
ROWS = 60_000
BODY = 1_500


def _write(path: Path, rows: int) -> None:
    body = "".join(chr(97 + at % 26) for at in range(BODY))
    with path.open("w") as file:
        for at in range(rows):
            record = {"type": "Page", "data": {"url": f"page-{at}", "body": f"{at}{body}", "n": at}}
            file.write(json.dumps(record) + "\n")


def _peak(folder: Path, file: Path, mode: str) -> tuple[int, int]:
    """Return the highest memory, in MiB, before and in a load in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), SCHEMA, str(file), mode],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    before, peak, _ = map(int, done.stdout.split()[-3:])
    return before // 1024, peak // 1024


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files, one four times the other."""
    folder = tmp_path_factory.mktemp("files")
    found = [folder / "small.ndjson", folder / "large.ndjson"]
    for file, rows in zip(found, (ROWS, 4 * ROWS), strict=True):
        _write(file, rows)
    return found


@pytest.mark.long
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_four_times_the_file_does_not_need_four_times_the_memory(
    mode: str, files: list[Path], tmp_path: Path
) -> None:
    base, little = _peak(tmp_path / "one", files[0], mode)
    _, much = _peak(tmp_path / "two", files[1], mode)
    sizes = [file.stat().st_size // 2**20 for file in files]
    print(f"{mode}: files {sizes} MiB, memory {base} MiB before, then {little} and {much} MiB")
    assert much - base < 2.5 * (little - base)
    assert much - base < 2 * sizes[1]
