"""The Spark session: started lazily, quietly, once; and what is said when it cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


def test_neither_the_package_nor_an_open_graph_loads_spark(tmp_path: Path) -> None:
    code = (
        "import sys, omnigraph as og\n"
        f"g = og.init({str(tmp_path / 'g')!r}, 'node Person {{ name: String @key }}')\n"
        "g.load([{'type': 'Person', 'data': {'name': 'ada'}}], mode='append')\n"
        "import omnigraph.spark\n"
        "print('pyspark' in sys.modules)\n"
    )
    done = _run(code)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.long
def test_a_session_is_silent_finds_the_package_in_its_workers_and_ends_with_the_process() -> None:
    code = (
        "from omnigraph.spark import session, ui_address\n"
        "s = session('local[1]', config={'spark.driver.memory': '512m'})\n"
        "def where(batches):\n"
        "    import sys, omnigraph, pyarrow as pa\n"
        "    for _ in batches:\n"
        "        found = {'file': [omnigraph.__file__], 'python': [sys.executable]}\n"
        "        yield pa.RecordBatch.from_pydict(found)\n"
        "row = s.range(1).mapInArrow(where, 'file string, python string').collect()[0]\n"
        "import omnigraph, sys\n"
        "assert row == (omnigraph.__file__, sys.executable), row\n"
        "assert session() is s and ui_address(s) is None\n"
        "print('done')\n"
    )
    done = _run(code)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "done", "")


SLOW = """
from omnigraph.spark import session
def slow(batches):
    import time
    for batch in batches:
        time.sleep(300)
        yield batch
session('local[2]', config={'spark.driver.memory': '512m'}).range(1).mapInArrow(slow, 'id long').collect()
"""


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_session_outlives_its_driver_even_when_java_does_not_answer(how: signal.Signals) -> None:
    driver = psutil.Popen([sys.executable, "-c", SLOW], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    family: list[psutil.Process] = []
    try:
        while len(family) < 4:  # Java, the guard, the workers' daemon and a worker
            assert driver.poll() is None
            time.sleep(0.2)
            family = driver.children(recursive=True)
        next(process for process in family if process.name() == "java").suspend()
        driver.send_signal(how)
        driver.wait(20)
        _, left = psutil.wait_procs(family, timeout=60)
        assert left == []
    finally:
        for process in (driver, *family):
            if process.is_running():
                process.kill()


def test_auto_never_starts_spark_for_a_query(tmp_path: Path) -> None:
    code = (
        "import sys, omnigraph as og\n"
        f"g = og.init({str(tmp_path / 'g')!r}, 'node Person {{ name: String @key }}')\n"
        "g.load([{'type': 'Person', 'data': {'name': name}} for name in 'abc'], mode='append')\n"
        "pairs = 'query q() { match { $a: Person $b: Person } return { $a.name $b.name as b } }'\n"
        "print(g.query(pairs).engine, 'pyspark' in sys.modules)\n"
        "print(g.explain(pairs).to_json()['engine']['why'])\n"
    )
    settings = {"OMNIGRAPH_SPARK_QUERY_ROWS": "5", "OMNIGRAPH_SPARK_MASTER": "", "SPARK_REMOTE": ""}
    done = _run(code, **settings)
    assert done.stdout.splitlines() == [
        "local False",
        "the largest step is expected to have 9 rows, 5 or more, "
        "but no Spark session is running or configured",
    ], done.stderr


@pytest.mark.long
def test_a_session_whose_java_has_died_is_started_anew() -> None:
    code = (
        "from omnigraph.pipeline.session import abandon, session\n"
        "first = session('local[1]', config={'spark.driver.memory': '512m'})\n"
        "abandon(first)\n"
        "import omnigraph.pipeline.session as module\n"
        "module._ours.java.wait()\n"
        "second = session('local[1]', config={'spark.driver.memory': '512m'})\n"
        "print(second is first, second.range(3).count())\n"
    )
    done = _run(code)
    assert (done.stdout.strip(), done.returncode) == ("False 3", 0), done.stderr


def test_a_session_without_java_is_one_clear_line(tmp_path: Path) -> None:
    done = _run("from omnigraph.spark import session; session()", JAVA_HOME=str(tmp_path))
    assert "SparkMissing" in done.stderr.splitlines()[-1]


def test_spark_connect_without_its_packages_says_what_to_install() -> None:
    done = _run(
        "import sys; sys.modules['grpc'] = None\nfrom omnigraph.spark import session; session()",
        SPARK_REMOTE="sc://localhost:1",
    )
    assert "SparkMissing" in done.stderr.splitlines()[-1], done.stderr
    assert "pyspark[connect]" in done.stderr.splitlines()[-1]
