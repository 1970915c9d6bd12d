"""The archive of classes: Java starts from it, and starts without it when it does not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import spark
from omnigraph.base.errors import BadInput
from omnigraph.pipeline.class_archive import archive_path

_START = """
from omnigraph.pipeline.session import started_java
from omnigraph.spark import session

s = session("local[1]", config={"spark.driver.memory": "512m"})
print(s.range(3).count(), file=open(RESULT, "w"))
print(open(f"/proc/{started_java().pid}/maps").read(), file=open(MAPS, "w"))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The archive that the tests run on, or one that is made here."""
    here = archive_path()
    if here is not None and here.is_file():
        yield here
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_SPARK_ARCHIVE", str(tmp_path_factory.mktemp("archive") / "classes.jsa"))
        yield spark.prepare()


def _start(folder: Path, archive: Path | str) -> tuple[str, str]:
    """Start a session; return what a job in it counted, and what its Java has mapped into memory."""
    result, maps = folder / "result", folder / "maps"
    code = f"RESULT, MAPS = {str(result)!r}, {str(maps)!r}\n{_START}"
    environment = {
        **os.environ,
        # That of the other tests names an archive itself.
        "OMNIGRAPH_SPARK_CONFIG": "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "OMNIGRAPH_SPARK_ARCHIVE": str(archive),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return result.read_text().strip(), maps.read_text()


@pytest.mark.long
def test_java_starts_from_the_archive(archive: Path, tmp_path: Path) -> None:
    named = tmp_path / "a folder" / "classes.jsa"
    named.parent.mkdir()
    named.symlink_to(archive)
    counted, maps = _start(tmp_path, named)
    assert counted == "3"
    assert str(archive.resolve()) in maps


@pytest.mark.long
def test_a_file_that_is_not_an_archive_changes_nothing(tmp_path: Path) -> None:
    other = tmp_path / "classes.jsa"
    other.write_text("not what Java writes")
    counted, maps = _start(tmp_path, other)
    assert counted == "3"
    assert str(other) not in maps


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OMNIGRAPH_SPARK_ARCHIVE", str(tmp_path / "file" / "classes.jsa"))
    with pytest.raises(BadInput, match=r"cannot be written .*OMNIGRAPH_SPARK_ARCHIVE"):
        spark.prepare()
