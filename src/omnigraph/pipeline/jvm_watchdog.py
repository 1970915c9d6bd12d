"""A small process that ends the Java of a session when its driver has died, and removes what both left.

Java watches its driver too, but one whose memory is full does nothing but collect garbage, and ends neither
by itself nor by SIGTERM. It is run as a file, with nothing but the standard library.
"""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

_POLL_SECONDS = 0.5
_GRACE_SECONDS = 5.0
"""Time in which Java may end by itself after its driver."""


def start_watchdog(java: int, folder: str, beginnings: Sequence[str]) -> None:
    """Start the watchdog of a Java that this process has started.

    It removes the folder of its log, and those whose paths begin so and end with a dead process.
    """
    if sys.platform == "win32":  # Spark itself ends Java there
        return
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(java), folder, *beginnings],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,  # signals to the driver's process group must not reach it
    )  # fmt: skip


def _watch(driver: int, java: int) -> bool:
    """Wait for the end of a Java, and end it after its driver; return whether that has died first."""
    while os.getppid() == driver:
        if not is_alive(java):
            return False
        time.sleep(_POLL_SECONDS)
    for _ in range(int(_GRACE_SECONDS / _POLL_SECONDS)):
        if not is_alive(java):
            return True
        time.sleep(_POLL_SECONDS)
    os.kill(java, signal.SIGKILL)
    return True


def is_alive(process: int) -> bool:
    """Return whether a process runs, whoever owns it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


if __name__ == "__main__":
    if _watch(int(sys.argv[1]), int(sys.argv[2])):
        shutil.rmtree(sys.argv[3], ignore_errors=True)
    time.sleep(_POLL_SECONDS)  # the Python processes of Java end after it
    for beginning in sys.argv[4:]:
        for folder in glob.glob(f"{glob.escape(beginning)}*"):
            owner = folder.rpartition("-")[2]
            if owner.isdecimal() and not is_alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)
