"""Temporary folders of a process go with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.base.handed.process_folders import working_folder

_KILLED = """
import os, signal
from omnigraph.base.handed.process_folders import working_folder
folder = working_folder("load")
open(os.path.join(folder.name, "rows"), "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""
_ENDED = """
from omnigraph.base.handed.process_folders import working_folder
folder = working_folder("load")
print(folder.name)
"""


def _run(code: str, temporary: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def _left(temporary: Path) -> list[str]:
    return sorted(str(path.relative_to(temporary)) for path in temporary.rglob("*"))


def test_what_a_killed_process_was_working_on_goes_with_the_next_that_works(tmp_path: Path) -> None:
    assert _run(_KILLED, tmp_path).returncode == -signal.SIGKILL
    assert _left(tmp_path)[-1].endswith("/rows")
    done = _run(_ENDED, tmp_path)
    assert (done.returncode, str(tmp_path) in done.stdout) == (0, True), done.stderr
    assert _left(tmp_path) == []


def test_a_working_folder_is_this_users_alone_and_goes_with_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with working_folder("load") as one, working_folder("keys") as other:
        assert Path(one).parent == Path(other).parent
        assert Path(one).parent.stat().st_mode & 0o777 == 0o700
        Path(one, "rows").touch()
    assert list(next(tmp_path.iterdir()).iterdir()) == []
