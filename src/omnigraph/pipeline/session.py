"""The one place that starts Spark: from arguments, the environment, or a session that exists already."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from omnigraph.base.errors import BadInput, SparkFailed
from omnigraph.base.handed.process_folders import list_beginnings, make_private, remove_orphans
from omnigraph.execution.engine import spark_missing
from omnigraph.execution.spark.remote import is_remote
from omnigraph.pipeline.class_archive import add_archive
from omnigraph.pipeline.jvm_watchdog import is_alive, start_watchdog
from omnigraph.pipeline.requirements import require_spark
from omnigraph.pipeline.worker_python import require_worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER_VARIABLE = "OMNIGRAPH_SPARK_MASTER"
MEMORY_VARIABLE = "OMNIGRAPH_SPARK_MEMORY"
CONFIG_VARIABLE = "OMNIGRAPH_SPARK_CONFIG"
REMOTE_VARIABLE = "SPARK_REMOTE"
_TASK_ATTEMPTS = 4
_FOLDER_NAME = "omnigraph-spark-"
_LOUD_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""They print the Java stack of an error that is raised anyway."""
_CONNECT_NEEDS = ("grpc", "pandas")
_LONGEST_SOCKET_FOLDER = 61
"""Spark takes no longer path: with the name of a socket it must stay below the system's limit."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs and its configuration."""

    master: str = "local[*]"
    remote: str | None = None
    """The address of a Spark Connect server; Spark then runs there and `master` is not used."""
    memory: str = "2g"
    """Memory of the driver's Java, which in a local session is the only one."""
    config: Mapping[str, str] = field(default_factory=dict)
    ui: bool = False

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ) -> SparkOptions:
        """Return the defaults, changed by environment variables."""
        pairs = [item.strip() for item in environment.get(CONFIG_VARIABLE, "").split(";") if item.strip()]
        wrong = [item for item in pairs if "=" not in item]
        if wrong:
            raise BadInput(
                f"{CONFIG_VARIABLE} has {wrong[0]!r}: write name=value;name=value", variable=CONFIG_VARIABLE
            )
        named = {name.strip(): value.strip() for name, _, value in (item.partition("=") for item in pairs)}
        return SparkOptions(
            master=environment.get(MASTER_VARIABLE) or "local[*]",
            remote=environment.get(REMOTE_VARIABLE) or None,
            memory=environment.get(MEMORY_VARIABLE) or "2g",
            config=named,
        )


@dataclass
class _OwnSession:
    """The session that this process has started, and its Java, which serves the sessions after it too."""

    session: Any = None
    java: Any = None
    """The process of its Java, unless that runs elsewhere."""
    folder: str | None = None
    """Where Java has its log and sockets: it takes the path once, so the folder stays as long as it runs."""
    log: IO[bytes] | None = None

    def drop_folder(self) -> None:
        """Remove the log and the sockets."""
        if self.log is not None:
            self.log.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.log = self.folder = None


_ours = _OwnSession()
_lock = threading.Lock()


def session(
    master: str | None = None,
    *,
    remote: str | None = None,
    config: Mapping[str, str] | None = None,
    ui: bool = False,
) -> SparkSession:
    """Return the running session, or start one: embedded in this process unless told otherwise.

    A session that exists is used as it is, whoever made it. One that is started here ends with the process.
    """
    with _lock:
        running = active()
        if running is not None:
            _check_master(running, master, remote)
            require_worker_python(running)
            return running
        told = SparkOptions.from_environment()
        options = SparkOptions(
            master or told.master,
            remote or (told.remote if master is None else None),
            told.memory,
            {**told.config, **(config or {})},
            ui,
        )
        # Spark says so at every use of Arrow; nothing here uses pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        _ours.session = _connect(options) if options.remote else _start(options)
        from omnigraph.pipeline.datasource import register

        register(_ours.session)
        return _ours.session


def active() -> SparkSession | None:
    """Return the running session of this process, or None."""
    # Nothing is imported here: importing PySpark in two threads at once breaks both.
    sessions = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)
    if sessions is None:
        return None
    if _ours.java is not None and _ours.java.poll() is not None:
        _forget()
    found = sessions.getActiveSession() or _ours.session
    return found if found is not None and _is_running(found) else None


def describe_configuration(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return which environment variable configures Spark, in words, or None."""
    named = next((name for name in (REMOTE_VARIABLE, MASTER_VARIABLE) if environment.get(name)), None)
    return f"{named} is set" if named else None


def stop() -> None:
    """End the session that was started here, if any; one that somebody else made stays."""
    with _lock:
        if _ours.java is not None and _ours.java.poll() is not None:
            _forget()
        running, _ours.session = _ours.session, None
        if running is not None and _is_running(running):
            running.stop()
        remove_orphans()


def _stop_at_exit() -> None:
    stop()
    _ours.drop_folder()


def abandon(spark: SparkSession) -> None:
    """Kill the Java of a session that was started here and no longer answers."""
    if spark is _ours.session and _ours.java is not None:
        _ours.java.kill()


def started_java() -> Any:
    """Return the process of the Java that was started here, or None."""
    return _ours.java


def ui_address(spark: SparkSession) -> str | None:
    """Return the address of a session's web page, when it has one."""
    if is_remote(spark):
        return None
    address: str | None = spark.sparkContext.uiWebUrl
    return address


def _is_running(spark: Any) -> bool:
    if is_remote(spark):
        return not spark.is_stopped
    context = spark.sparkContext
    return context._jsc is not None and not context._jsc.sc().isStopped()


def _forget() -> None:
    """Reset PySpark so that it starts another Java after one that has died."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession as Sessions

    _ours.session = _ours.java = None
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    Sessions._instantiatedSession = None
    _ours.drop_folder()


def _check_master(running: Any, master: str | None, remote: str | None) -> None:
    if remote is not None and not is_remote(running):
        raise BadInput(f"a session is already running here: stop it before you connect to {remote}")
    if master is None or is_remote(running):
        return
    there = running.sparkContext.master
    if there not in (master, _set_task_attempts(master)):
        raise BadInput(f"a session runs on {there} already: stop it before you start one on {master}")


def _connect(options: SparkOptions) -> Any:
    missing = [name for name in _CONNECT_NEEDS if not _is_installed(name)]
    if missing:  # checked here because Spark itself would end the process
        raise spark_missing(
            f"Spark Connect needs {' and '.join(missing)}: install 'pyspark[connect]'", remote=options.remote
        )
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession as Sessions

    try:
        builder = Sessions.builder.remote(options.remote)
        for name, value in options.config.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise SparkFailed(f"{options.remote} cannot be reached: {first}", remote=options.remote) from error


def _start(options: SparkOptions) -> Any:
    require_spark()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession as Sessions

    remove_dead_folders(Path(tempfile.gettempdir()))
    if SparkContext._gateway is None:
        _ours.drop_folder()
        _ours.folder = tempfile.mkdtemp(prefix=f"{_FOLDER_NAME}{os.getpid()}-")
    elif _ours.folder is not None:
        make_private(Path(_ours.folder))  # whoever cleans the temporary folder may have removed it
    settings = add_archive({**_socket_settings(options.master, _ours.folder), **_config(options)})
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    try:
        if SparkContext._gateway is None and _ours.folder is not None:
            # Java's own output goes to a file from its first line; the terminal is the user's.
            _ours.log = Path(_ours.folder, "java.log").open("wb")  # noqa: SIM115
            with warnings.catch_warnings():
                # Starting Java forks briefly; the forked process does not use Lance.
                warnings.filterwarnings("ignore", "lance is not fork-safe")
                gateway = _launch(partial(launch_gateway, conf, {"stdout": _ours.log, "stderr": _ours.log}))
                start_watchdog(gateway.proc.pid, _ours.folder, list_beginnings())
            _ours.java = gateway.proc
            SparkContext._ensure_initialized(gateway=gateway, conf=conf)
        builder = Sessions.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        started = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        said = f"; its output is in {_ours.log.name}" if _ours.log else ""
        raise SparkFailed(f"Spark on {options.master} did not start{said}", master=options.master) from error
    for name in _LOUD_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    if "PYSPARK_PYTHON" not in os.environ:
        started.sparkContext.pythonExec = sys.executable
    atexit.register(_stop_at_exit)
    return started


def _launch(launch: Callable[[], Any]) -> Any:
    """Start Java; one whose start is interrupted, as by Ctrl-C, is ended.

    PySpark removes the folder that Java tells its port in, and a Java that cannot tell it never ends.
    """
    try:
        return launch()
    except BaseException as error:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            java = frame.f_locals.get("proc")
            if isinstance(java, subprocess.Popen):
                java.kill()
        raise


def remove_dead_folders(temporary: Path) -> None:
    """Remove the folders of sessions whose processes have ended without it."""
    for path in temporary.glob(f"{_FOLDER_NAME}*"):
        process = path.name.removeprefix(_FOLDER_NAME).partition("-")[0]
        if process.isdigit() and not is_alive(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _socket_settings(master: str, folder: str | None) -> dict[str, str]:
    """Return settings by which Java and Python of this machine talk over files: over TCP answers wait 40 ms.

    Whoever can write to such a socket needs no password, so they are in a folder that is this user's alone.
    """
    if folder is None:  # a Java that was not started here keeps the settings that it has
        return {}
    prefix = "spark.python.unix.domain.socket"
    if not master.startswith("local") or len(folder) > _LONGEST_SOCKET_FOLDER:
        return {f"{prefix}.enabled": "false"}  # said, since Java hands down what its first session had
    return {f"{prefix}.enabled": "true", f"{prefix}.dir": folder}


def _config(options: SparkOptions) -> dict[str, str]:
    master = _set_task_attempts(options.master)
    settings = {
        "spark.app.name": "omnigraph",
        "spark.master": master,
        "spark.driver.memory": options.memory,
        "spark.driver.maxResultSize": "0",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "omnigraph-spark-warehouse")),
        "spark.ui.enabled": "true" if options.ui else "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": _python_path(),
            # Java only passes on what Python makes; its default collector lets the heap fill up first.
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        }
    return {**settings, **options.config}


def _python_path() -> str:
    """Return the PYTHONPATH with which Python workers of this machine find this package."""
    package = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), package)))


def _set_task_attempts(master: str) -> str:
    """Return a local master that runs a failed task again, as a cluster does; plain local[2] would not."""
    if master == "local":
        return f"local[1,{_TASK_ATTEMPTS}]"
    if master.startswith("local[") and master.endswith("]") and "," not in master:
        return f"{master[:-1]},{_TASK_ATTEMPTS}]"
    return master


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:
        return False
