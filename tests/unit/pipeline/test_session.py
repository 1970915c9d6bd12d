"""Where Spark runs by the environment, and what is said of a Java that cannot run it."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.pipeline.requirements import require_java
from omnigraph.pipeline.session import (
    SparkOptions,
    _set_task_attempts,
    _socket_settings,
    describe_configuration,
)


def _java(folder: Path, said: str) -> Path:
    """Make a folder that looks like a Java home."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    return folder


def test_a_session_is_configured_by_a_master_or_a_server() -> None:
    assert describe_configuration({"OMNIGRAPH_SPARK_MEMORY": "4g", "SPARK_REMOTE": ""}) is None
    assert describe_configuration({"OMNIGRAPH_SPARK_MASTER": "local[2]"}) == "OMNIGRAPH_SPARK_MASTER is set"
    assert describe_configuration({"SPARK_REMOTE": "sc://host"}) == "SPARK_REMOTE is set"


def test_a_missing_java_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(og.SparkMissing, match="none on the PATH: install OpenJDK 17"):
        require_java({"PATH": str(tmp_path)})
    with pytest.raises(og.SparkMissing, match=r"JAVA_HOME is .*: install OpenJDK 17"):
        require_java({"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize(("said", "release"), [('version "1.8.0_402"', 8), ('version "11.0.2" 2019', 11)])
def test_an_old_java_is_named_with_what_to_install(tmp_path: Path, said: str, release: int) -> None:
    home = _java(tmp_path / "java", said)
    with pytest.raises(og.SparkMissing, match=f"is Java {release}: install OpenJDK 17") as caught:
        require_java({"JAVA_HOME": str(home)})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("said", ['version "17.0.15" 2025-04-15', 'version "21" 2023-09-19'])
def test_a_new_java_is_taken(tmp_path: Path, said: str) -> None:
    home = _java(tmp_path / "java", said)
    assert require_java({"JAVA_HOME": str(home)}) == str(home / "bin" / "java")


def test_a_java_that_does_not_run_is_told(tmp_path: Path) -> None:
    home = _java(tmp_path / "java", "no idea")
    with pytest.raises(og.SparkMissing, match="does not run"):
        require_java({"JAVA_HOME": str(home)})


def test_the_environment_chooses_where_spark_runs() -> None:
    assert SparkOptions.from_environment({}) == SparkOptions()
    told = SparkOptions.from_environment(
        {
            "OMNIGRAPH_SPARK_MASTER": "spark://host:7077",
            "OMNIGRAPH_SPARK_MEMORY": "4g",
            "OMNIGRAPH_SPARK_CONFIG": "spark.executor.cores=2; spark.executor.memory = 1g;",
            "SPARK_REMOTE": "sc://host",
        }
    )
    assert told.master == "spark://host:7077"
    assert (told.memory, told.remote) == ("4g", "sc://host")
    assert told.config == {"spark.executor.cores": "2", "spark.executor.memory": "1g"}
    with pytest.raises(og.BadInput, match="name=value"):
        SparkOptions.from_environment({"OMNIGRAPH_SPARK_CONFIG": "nonsense"})


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_local_session_runs_failed_tasks_again_as_a_cluster_does(given: str, used: str) -> None:
    assert _set_task_attempts(given) == used


def test_java_and_python_talk_over_files_where_they_share_the_machine_and_the_path_is_short() -> None:
    assert _socket_settings("local[*]", "/tmp/omnigraph-spark-1-x") == {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp/omnigraph-spark-1-x",
    }
    off = {"spark.python.unix.domain.socket.enabled": "false"}
    assert _socket_settings("spark://host:7077", "/tmp/x") == off
    assert _socket_settings("local[*]", "/tmp/" + "x" * 60) == off
    assert _socket_settings("local[*]", None) == {}
