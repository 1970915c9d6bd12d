"""The Spark session: started lazily, quietly, once; and what is said when it cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest


def _run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
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
def test_a_session_is_silent_finds_the_package_in_its_workers_and_ends_with_the_process(
    tmp_path: Path,
) -> None:
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
        "import tempfile, omnigraph as og\n"
        "g = og.init(tempfile.mkdtemp() + '/g', 'node Person { name: String @key }')\n"
        "wrong = s.sql('SELECT cast(NULL AS string) AS name')\n"
        "to = wrong.write.format('omnigraph').mode('append').option('graph', g.uri)\n"
        "for act in (lambda: s.sql('SELECT nothing'), lambda: wrong.select('nam'),\n"
        "            lambda: to.save('Person'), lambda: g.load(wrong, type='Person', mode='append')):\n"
        "    try:\n"
        "        act()\n"
        "    except Exception as error:\n"
        "        print('error')\n"
    )
    dead = tmp_path / f"omnigraph-spark-{_pid_of_nobody()}-x"
    for folder in (dead, alive := tmp_path / f"omnigraph-spark-{os.getpid()}-x"):
        folder.mkdir()
        (folder / "java.log").touch()
    done = _run(code, TMPDIR=str(tmp_path))
    assert (done.returncode, done.stdout.split(), done.stderr.strip()) == (0, ["error"] * 4, "")
    assert list(tmp_path.glob("omnigraph-spark-*-*")) == [alive]


def _pid_of_nobody() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


OWN = """
import os
os.environ.pop("PYSPARK_PYTHON", None)
from pyspark.sql import SparkSession
import omnigraph as og
from omnigraph import spark
own = (SparkSession.builder.master("local[1]").config("spark.driver.memory", "512m")
       .config("spark.ui.enabled", "false").getOrCreate())
g = og.init({graph!r}, "node Person {{ name: String @key }}")
frame = own.createDataFrame([("ada",)], "name string")
for act in (lambda: spark.register(own), lambda: g.load(frame, type="Person", mode="append"),
            lambda: spark.attach(own, g.uri), lambda: spark.session()):
    try:
        act()
    except og.SparkFailed as error:
        print(error)
"""


@pytest.mark.long
def test_a_session_of_a_program_whose_workers_have_no_package_is_told_what_to_do(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = _run(OWN.format(graph=str(tmp_path / "graph")), PATH=path)
    said = (
        "the workers of this session run 'python3', which has no OmniGraph: set "
        f"PYSPARK_PYTHON={sys.executable} before the session is made, or use omnigraph.spark.session()"
    )
    assert done.stdout.splitlines() == [said] * 4, done.stderr


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
        assert not list(Path(tempfile.gettempdir()).glob(f"omnigraph-spark-{driver.pid}-*"))
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


@pytest.mark.long
def test_sessions_of_one_java_after_another_read_what_workers_and_java_send() -> None:
    code = (
        "import shutil, sys\n"
        "from pathlib import Path\n"
        "from omnigraph.spark import session, stop\n"
        "def same(batches):\n"
        "    yield from batches\n"
        "for number in range(3):\n"
        "    s = session('local[1]', config={'spark.driver.memory': '512m'})\n"
        "    folder = Path(s.sparkContext.getConf().get('spark.python.unix.domain.socket.dir'))\n"
        "    print(s.range(3).mapInArrow(same, 'id long').toArrow().num_rows, len(s.range(2).collect()),\n"
        "          oct(folder.stat().st_mode & 0o777), folder.parent == Path(sys.argv[1]), flush=True)\n"
        "    stop()\n"
        "    if number == 1:  # as programs do that clean the temporary folder\n"
        "        shutil.rmtree(folder)\n"
    )
    # Not `tmp_path`, which is too long for the name of a socket.
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        done = _run(code, short, TMPDIR=short)
        assert (done.stdout.splitlines(), done.returncode) == (["3 2 0o700 True"] * 3, 0), done.stderr
        assert not list(Path(short).glob("omnigraph-spark-*-*"))


def test_a_start_that_is_interrupted_leaves_no_java() -> None:
    code = (
        "import psutil, pyspark.java_gateway\n"
        "from omnigraph.spark import session\n"
        "started = []\n"
        "class Interrupted:\n"
        "    def sleep(self, seconds):\n"
        "        started.extend(psutil.Process().children(recursive=True))\n"
        "        raise KeyboardInterrupt\n"
        "pyspark.java_gateway.time = Interrupted()\n"
        "try:\n"
        "    session()\n"
        "except KeyboardInterrupt:\n"
        "    print(len(started) > 0, psutil.wait_procs(started, timeout=15)[1])\n"
    )
    done = _run(code)
    assert done.stdout.strip() == "True []", done.stderr


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
