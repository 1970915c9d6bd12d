"""A standalone cluster of Spark on this machine: a master and two workers, processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.spark_servers import start_server, wait_for

_TESTS = Path(__file__).parents[1]
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    # What tests send to tasks is found by its name.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join((str(_TESTS.parent), str(_TESTS))),
}
"""Settings of a driver that takes both workers."""


@dataclass
class Cluster:
    """A master and its workers."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    master: str = ""

    def start(self) -> None:
        """Start the master on a free port, then two workers of one core each."""
        log = self._start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
                          "--port", "0", "--webui-port", "0")  # fmt: skip
        self.master = wait_for(log, r"spark://127\.0\.0\.1:\d+")
        for number in range(2):
            log = self._start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", "--cores", "1",
                              "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0", "--work-dir",
                              str(self.folder / f"work-{number}"), self.master)  # fmt: skip
            wait_for(log, "Successfully registered with master")

    def _start(self, name: str, *command: str) -> Path:
        log = self.folder / f"{name}.log"
        self.processes.append(start_server(log, *command))
        return log

    def kill_worker(self, number: int) -> None:
        """Kill a worker with all its executors and their Python processes."""
        os.killpg(self.processes[1 + number].pid, signal.SIGKILL)

    def stop(self) -> None:
        """Kill what still runs."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that ends with the block."""
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
