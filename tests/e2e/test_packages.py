"""The wheel and the sdist have what is needed, and work without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from pathlib import Path

import omnigraph as og
from omnigraph.cli.main import run

assert Path(og.__file__).is_relative_to(sys.argv[1]), og.__file__
graph = og.init("people", "node Person { name: String @key } edge Knows: Person -> Person", actor="ada")
graph.mutate('query q() { insert Person { name: "bob" } }')
graph.branches.create("review")
print(graph.query("query q() { match { $p: Person } return { $p.name } }").rows)
sys.argv = ["omnigraph", "version"]
run()
"""
NEEDED = (
    "omnigraph/py.typed",
    "omnigraph/compiler/query/parser.tables",
    "omnigraph/pipeline/sql/omnigraph-spark.jar",
    "omnigraph/server/page/files/index.html",
    "omnigraph/sdk/aio/handles.pyi",
)
MOST_BYTES = {"*.whl": 3 * 2**20, "*.tar.gz": 10 * 2**20}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both as a release does: the sdist, and the wheel from the sdist; nothing is downloaded."""
    out = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source")
    build(ROOT, "sdist", out)
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        archive.extractall(source)  # our own; Debian 12 has a Python without filters
    build(next(source.iterdir()), "wheel", out)
    return out


def build(folder: Path, what: str, out: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(out)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_they_are_small_and_have_more_than_python(built: Path) -> None:
    for pattern, most in MOST_BYTES.items():
        (path,) = built.glob(pattern)
        assert path.stat().st_size < most, path
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert set(NEEDED) <= names
    assert {name.split("/")[0] for name in names} == {"omnigraph", "omnigraph-0.1.0.dist-info"}
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "omnigraph").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sources <= names


@pytest.mark.long
def test_the_wheel_works_where_there_is_no_repository(built: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(installed)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "omnigraph" not in path.name:
            (installed / path.name).symlink_to(path)
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, str(installed)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[{'p.name': 'bob'}]"
    assert "storage format" in done.stdout
