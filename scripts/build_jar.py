"""Build the jar of the SQL catalog from `java/`, with plain javac and the jars inside PySpark.

The same sources and the same javac give the same bytes: entries are sorted, stored and without dates. The
manifest says from which sources, for which Spark and by which javac the jar was made.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import tempfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "java"
JAR = ROOT / "src" / "omnigraph" / "pipeline" / "sql" / "omnigraph-spark.jar"
RELEASE = "17"
_MOMENT = (2026, 1, 1, 0, 0, 0)


def source_files() -> list[Path]:
    """Return the Java sources."""
    return sorted(SOURCES.rglob("*.java"))


def digest_of_sources() -> str:
    """Return the digest of all sources with their names."""
    total = hashlib.sha256()
    for path in source_files():
        total.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def javac_version() -> str:
    """Return the version of the javac at hand; OSError when there is none."""
    said = subprocess.run(["javac", "-version"], check=True, capture_output=True, text=True)
    return (said.stdout or said.stderr).split()[-1]


def build() -> bytes:
    """Compile the sources, and return the jar."""
    spark = find_spec("pyspark")
    assert spark is not None and spark.origin is not None
    jars = Path(spark.origin).parent / "jars"
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(
            ["javac", "-Xlint:all,-classfile,-processing,-path", "-Werror", "-proc:none", "-g:source,lines",
             "--release", RELEASE, "-cp", f"{jars}/*", "-d", classes, *map(str, source_files())],
            check=True,
        )  # fmt: skip
        found = {
            path.relative_to(classes).as_posix(): path.read_bytes() for path in Path(classes).rglob("*.class")
        }
    manifest = "".join(
        f"{name}: {value}\r\n"
        for name, value in (
            ("Manifest-Version", "1.0"),
            ("Spark-Version", version("pyspark")),
            ("Javac-Version", javac_version()),
            ("Sources-SHA256", digest_of_sources()[:40]),
        )
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as jar:
        for name, content in [("META-INF/MANIFEST.MF", f"{manifest}\r\n".encode()), *sorted(found.items())]:
            jar.writestr(zipfile.ZipInfo(name, _MOMENT), content)
    return out.getvalue()


def main() -> None:
    """Write the jar, or say whether it is what the sources make."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare the jar with the sources, write nothing"
    )
    if parser.parse_args().check:
        raise SystemExit(
            0 if JAR.read_bytes() == build() else f"{JAR} is not what {SOURCES} makes: build it again"
        )
    JAR.write_bytes(build())


if __name__ == "__main__":
    main()
