"""Makes the file of classes from which Spark's Java starts more quickly."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from omnigraph.base.errors import BadInput, SparkFailed
from omnigraph.pipeline.class_archive import ARCHIVE_VARIABLE, archive_path
from omnigraph.pipeline.requirements import require_spark

_TIMEOUT_SECONDS = 600
_LINES_SHOWN = 20


def prepare() -> Path:
    """Make the archive, in a process of its own; return its path.

    One that is there is replaced when the new one is whole. It takes half a minute and some 150 MiB.
    """
    require_spark()
    path = archive_path()
    if path is None:
        raise BadInput(
            f"{ARCHIVE_VARIABLE} is 0, so that no archive is used: unset it, or give a path",
            variable=ARCHIVE_VARIABLE,
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f"{path.name}.") as folder:
            written = Path(folder, path.name)
            _run_first_steps(written)
            with written.open("rb") as file:
                os.fsync(file.fileno())  # Java crashes on half an archive, and passes over anything else
            os.replace(written, path)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written ({error.strerror}): say in {ARCHIVE_VARIABLE} where it may be",
            variable=ARCHIVE_VARIABLE,
        ) from error
    return path


def _run_first_steps(target: Path) -> None:
    """Let a process do what users do first, and its Java write the archive."""
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph.spark.first_steps", str(target)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )
    if done.returncode or not target.is_file():
        last = "\n".join(done.stdout.splitlines()[-_LINES_SHOWN:])
        raise SparkFailed(f"Java wrote no archive of its classes:\n{last}", target=str(target))
