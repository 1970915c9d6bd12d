"""The jar of the SQL catalog is what its sources make, for the Spark that is installed."""

from __future__ import annotations

import io
import shutil
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from omnigraph.pipeline.sql.attach import JAR, jar_manifest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import build_jar  # noqa: E402


def test_the_jar_says_from_which_sources_and_for_which_spark_it_was_built() -> None:
    said = jar_manifest()
    assert build_jar.digest_of_sources().startswith(said["Sources-SHA256"]), "run scripts/build_jar.py"
    assert said["Spark-Version"] == version("pyspark")
    assert build_jar.JAR.read_bytes() == JAR.read_bytes()


@pytest.mark.long
def test_the_sources_make_the_jar() -> None:
    """Where there is no javac the digest above is all that can be compared."""
    if shutil.which("javac") is None:
        return
    made, stored = build_jar.build(), JAR.read_bytes()
    if build_jar.javac_version() == jar_manifest()["Javac-Version"]:
        assert made == stored
    else:  # another javac writes other bytes; the classes are the same
        names = [zipfile.ZipFile(io.BytesIO(jar)).namelist() for jar in (made, stored)]
        assert names[0] == names[1]
