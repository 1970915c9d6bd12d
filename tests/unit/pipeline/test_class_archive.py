"""Where the archive of Spark's classes is, and which sessions get it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from omnigraph import spark
from omnigraph.base.errors import BadInput
from omnigraph.pipeline.class_archive import add_archive, archive_path

_OPTIONS = "spark.driver.extraJavaOptions"


def test_the_archive_is_kept_in_the_environment_or_where_a_variable_says(tmp_path: Path) -> None:
    found = archive_path({})
    assert found is not None
    assert found.is_relative_to(sys.prefix)
    assert archive_path({"OMNIGRAPH_SPARK_ARCHIVE": str(tmp_path / "a.jsa")}) == tmp_path / "a.jsa"
    assert archive_path({"OMNIGRAPH_SPARK_ARCHIVE": "0"}) is None


def test_a_session_gets_the_archive_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "an archive.jsa"
    monkeypatch.setenv("OMNIGRAPH_SPARK_ARCHIVE", str(archive))
    assert add_archive({_OPTIONS: "-Xmx1g"}) == {_OPTIONS: "-Xmx1g"}
    archive.touch()
    options = shlex.split(add_archive({_OPTIONS: "-Xmx1g"})[_OPTIONS])
    assert options[:2] == ["-Xmx1g", f"-XX:SharedArchiveFile={archive}"]
    monkeypatch.setenv("OMNIGRAPH_SPARK_ARCHIVE", "0")
    assert add_archive({}) == {}


@pytest.mark.parametrize("option", ["-XX:SharedArchiveFile=/mine.jsa", "-XX:ArchiveClassesAtExit=/mine.jsa"])
def test_an_archive_of_the_users_own_stays(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsa").touch()
    monkeypatch.setenv("OMNIGRAPH_SPARK_ARCHIVE", str(tmp_path / "a.jsa"))
    assert add_archive({_OPTIONS: option}) == {_OPTIONS: option}


def test_no_archive_is_made_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_ARCHIVE", "0")
    with pytest.raises(BadInput, match="OMNIGRAPH_SPARK_ARCHIVE is 0"):
        spark.prepare()
