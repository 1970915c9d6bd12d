"""Runs a program on a disk that really refuses writes, whoever runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TESTS = str(Path(__file__).parents[1])
_MOUNT = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
_UNPRIVILEGED = f"""
import sys
sys.path.insert(0, {_TESTS!r})
from support.processes import drop_capabilities
drop_capabilities()
"""


def run_on_read_only_disk(root: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program that finds the root in `sys.argv[1]` and cannot write to it.

    The root is mounted read-only in a namespace of the program's own. Where the system does not allow that,
    the folders lose their write permission and the program the right to ignore it; the error number differs
    (EACCES for EROFS), what must follow does not.
    """
    inner = _namespace(root)
    if inner is not None:
        return _run([*inner, sys.executable, "-c", program, str(root)])
    with _without_write_permission(root):
        return _run([sys.executable, "-c", _UNPRIVILEGED + program, str(root)])


def _namespace(root: Path) -> list[str] | None:
    """Return the command that enters a namespace in which the root is read-only, if there is one."""
    for flags in (["--mount"], ["--mount", "--map-root-user"]):
        command = ["unshare", *flags, "sh", "-c", f'{_MOUNT} && shift && exec "$@"', "sh", str(root)]
        try:
            tried = _run([*command, "touch", str(root / "probe")])
        except FileNotFoundError:
            return None
        if "Read-only file system" in tried.stderr:
            return command
    return None


@contextmanager
def _without_write_permission(root: Path) -> Iterator[None]:
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder, mode in zip(folders, modes, strict=True):
            folder.chmod(mode)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
