"""A file of the classes that Spark loads, from which Java starts in half the processor time.

Java keeps them as it has parsed and verified them (class data sharing). `omnigraph.spark.prepare` makes
the file, and sessions that start Java read it. Java itself ignores a file that does not fit: one of
another Java, of another Spark, or of jars that have changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

ARCHIVE_VARIABLE = "OMNIGRAPH_SPARK_ARCHIVE"
_OPTIONS = "spark.driver.extraJavaOptions"
_OPTION = "-XX:SharedArchiveFile="
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""A file that does not fit changes nothing but how long a start takes."""


def archive_path(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return where the archive is kept, in this environment of Python unless a variable says otherwise.

    None when the variable is `0`: then none is read.
    """
    given = environment.get(ARCHIVE_VARIABLE)
    if given == "0":
        return None
    if given:
        return Path(given).absolute()
    return Path(sys.prefix, "share", "omnigraph", "spark-classes.jsa")


def add_archive(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session that starts Java, with the archive where there is one."""
    path, options = archive_path(), settings.get(_OPTIONS, "")
    if path is None or not path.is_file() or _OPTION in options or "ArchiveClassesAtExit" in options:
        return dict(settings)
    return {**settings, _OPTIONS: f'{options} "{_OPTION}{path}" {_QUIET}'.strip()}
