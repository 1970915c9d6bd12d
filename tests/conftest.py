"""What all tests share: the S3 server, the three stores, an environment without ambient credentials."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# Processes that tests start look up `support` and, to find a test's own functions, `tests`.
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from omnigraph.pipeline.class_archive import archive_path
from omnigraph.storage.objects import ObjectStore, open_store
from support.s3 import S3, running_server
from support.workers import Worker, Workers

# How long an example takes on a shared machine says nothing. Failures are printed with how to repeat them.
settings.register_profile(
    "shared", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")

# Half of Java's work in short runs is to compile what would be fast in long ones.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
if (archive := archive_path()) is not None and archive.is_file():  # `make test` sees to it
    _JAVA += f" -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
os.environ["OMNIGRAPH_SPARK_CONFIG"] = (
    f"spark.driver.extraJavaOptions={_JAVA};spark.executor.extraJavaOptions={_JAVA}"
)
os.environ["SPARK_DAEMON_JAVA_OPTS"] = _JAVA

# Temporary folders need not survive a power cut; the tests of that flush, and with OMNIGRAPH_FSYNC=1 all do.
os.environ.setdefault("OMNIGRAPH_FSYNC", "0")

# Where this is set, as in many containers, what a program forgets to flush is seen all the same.
os.environ.pop("PYTHONUNBUFFERED", None)

_names = itertools.count(1)

# Folders whose tests take longest, in the order in which they start.
_LONG = ("spark", "simulation", "jepsen", "e2e")

# Tests of Spark that start Java processes of their own; the others share one session.
_OWN_JAVA = (
    "test_class_archive.py",
    "test_cluster.py",
    "test_connect.py",
    "test_demo.py",
    "test_pipeline_example.py",
    "test_planted_secrets.py",
    "test_session.py",
    "test_soak.py",
    "test_written_lineage.py",
)


class _ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """What shares a fixture stays in one process: a file, and all that runs on the session of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", maxsplit=1)[0]
        if path.startswith("tests/spark/"):
            return "spark, own Java" if path.endswith(_OWN_JAVA) else "spark"
        return path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByFile:
    """Share the tests out to the processes of `-n`."""
    return _ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what is long start first."""
    items.sort(key=lambda item: _LONG.index(name) if (name := _folder(item)) in _LONG else len(_LONG))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector of garbage pass over what is imported and collected: it lives as long as the run."""
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


@dataclass(frozen=True)
class Place:
    """An empty root for a test: where it is and how to reach it."""

    kind: str
    uri: str
    options: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def many_processes(self) -> bool:
        """Whether other processes can reach it."""
        return self.kind != "memory"

    def store(self, prefix: str = "") -> ObjectStore:
        """Open a store there, or in a folder of it."""
        return open_store(f"{self.uri}/{prefix}" if prefix else self.uri, self.options)


@pytest.fixture(scope="session", autouse=True)
def no_ambient_settings() -> None:
    """Keep the developer's own AWS settings and embedding provider out of the tests."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "OMNIGRAPH_EMBEDDING"))]:
        del os.environ[name]


@pytest.fixture(scope="session")
def s3_server(no_ambient_settings: None) -> Iterator[S3]:
    """A server that speaks S3, one for the whole session."""
    with running_server() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3) -> S3:
    """A fresh bucket on the server."""
    return s3_server.fresh()


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty root on each kind of storage."""
    if request.param == "local":
        return Place("local", str(tmp_path / "root"))
    if request.param == "memory":
        return Place("memory", f"memory://test-{next(_names)}")
    bucket: S3 = request.getfixturevalue("s3")
    return Place("s3", f"{bucket.uri}/root", bucket.options)


@pytest.fixture
def any_store(place: Place) -> ObjectStore:
    """An empty store on each kind of storage."""
    return place.store()


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Fresh processes; those that a test takes end with it."""
    taken = Workers()
    yield taken
    taken.close()


@pytest.fixture
def worker(workers: Workers) -> Worker:
    """One fresh process."""
    return workers.take()
