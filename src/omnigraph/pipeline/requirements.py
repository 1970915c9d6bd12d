"""What Spark needs, checked before it starts, so that what is missing is a short error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec

from omnigraph.execution.engine import spark_missing

OLDEST_JAVA_RELEASE = 17
_TIMEOUT_SECONDS = 30
_ADVICE = f"install OpenJDK {OLDEST_JAVA_RELEASE} or later, or set JAVA_HOME to one"


def require_spark(environment: Mapping[str, str] = os.environ) -> None:
    """Raise SparkMissing unless a session can be started here."""
    if find_spec("pyspark") is None:
        raise spark_missing("the package pyspark is not installed: pip install 'omnigraph[spark]'")
    require_java(environment)


def require_java(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a Java that Spark can run on, or raise SparkMissing."""
    home = environment.get("JAVA_HOME")
    found = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH"))
    if found is None or not os.path.exists(found):
        where = f"JAVA_HOME is {home}, where there is no Java" if home else "there is none on the PATH"
        raise spark_missing(f"Spark needs Java and {where}: {_ADVICE}")
    release = _release(found)
    if release is None:
        raise spark_missing(f"{found} does not run: {_ADVICE}", java=found)
    if release < OLDEST_JAVA_RELEASE:
        raise spark_missing(
            f"Spark needs Java {OLDEST_JAVA_RELEASE} and {found} is Java {release}: {_ADVICE}", java=found
        )
    return found


def _release(java: str) -> int | None:
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if numbers is None:
        return None
    first, second = int(numbers[1]), int(numbers[2] or 0)
    return second if first == 1 else first  # Java 8 calls itself 1.8
