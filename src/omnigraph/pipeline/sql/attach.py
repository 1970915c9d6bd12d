"""`attach`: a graph as a catalog of a Spark session, whoever made the session and wherever it runs."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput, NotFound, SparkFailed
from omnigraph.execution.spark.remote import is_remote
from omnigraph.pipeline.datasource import register
from omnigraph.pipeline.error_transport import graph_error
from omnigraph.pipeline.options import prefixed_options
from omnigraph.pipeline.sql.places import open_graph_of
from omnigraph.pipeline.sql.source import CatalogSource
from omnigraph.pipeline.worker_python import require_worker_python
from omnigraph.policy.read_bundle import read_policy_text
from omnigraph.storage.objects import open_store
from omnigraph.storage.objects.options import portable_options

JAR = Path(__file__).with_name("omnigraph-spark.jar")
CATALOG_CLASS = "io.omnigraph.spark.GraphCatalog"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JARS_KNOWN = "spark.omnigraph.catalog.jar"


def attach_graph(
    spark: Any,
    uri: Any,
    name: str,
    storage_options: Mapping[str, str] | None,
    actor: str | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> None:
    """Make a graph a catalog of a session; again with the same graph it does nothing."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() == "spark_catalog":
        raise BadInput(f"{name!r} is not a name for a catalog: use letters, digits and _", name=name)
    check_spark_version(spark)
    require_worker_python(spark)
    given = dict(storage_options or {})
    address = str(open_store(str(uri), given).root_uri)
    prefix = f"spark.sql.catalog.{name}"
    # A server of Spark Connect has another disk: it gets them as they are, and is its own keeper of them.
    told = {"graph": address, **prefixed_options(given if is_remote(spark) else portable_options(given))}
    told |= {} if actor is None else {"actor": actor}
    told |= {} if policy is None else {"policy": read_policy_text(policy)}
    wanted = {prefix: CATALOG_CLASS, **{f"{prefix}.{key}": value for key, value in told.items()}}
    known = {key: spark.conf.get(key, None) for key in wanted}
    if known == wanted:
        return
    if known[prefix] is not None:
        there = spark.conf.get(f"{prefix}.graph", None) or known[prefix]
        raise BadInput(f"the catalog {name} of this session is {there}: give another name", name=name)
    open_graph_of(told)
    _add_jar(spark)
    register(spark)
    spark.dataSource.register(CatalogSource)
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        _try_out(spark, name)
    except Exception:
        for key in wanted:  # or the same call would take the catalog for one that works
            spark.conf.unset(key)
        raise


def check_spark_version(spark: Any) -> None:
    """Refuse a Spark that the jar was not built for; the data source works there all the same."""
    built_for = jar_manifest()["Spark-Version"]
    if spark.version.split(".")[:2] != built_for.split(".")[:2]:
        raise SparkFailed(
            f"the SQL catalog is built for Spark {built_for}, and this session is Spark {spark.version}: use "
            'spark.read.format("omnigraph") there, or a PySpark of that version',
            version=spark.version,
        )


@cache
def jar_manifest() -> Mapping[str, str]:
    """Return what the jar says of itself."""
    if not JAR.is_file():
        raise NotFound(
            f"the jar of the SQL catalog is not installed ({JAR.name}): build it with "
            'scripts/build_jar.py, or use spark.read.format("omnigraph"), which needs none',
            path=str(JAR),
        )
    with zipfile.ZipFile(JAR) as jar:
        lines = jar.read("META-INF/MANIFEST.MF").decode().splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def _add_jar(spark: Any) -> None:
    """Give the jar to the session, and to the executors that it has or will have."""
    if spark.conf.get(_JARS_KNOWN, None) == str(JAR):
        return
    if is_remote(spark):
        spark.addArtifacts(str(JAR))
    else:
        quoted = str(JAR).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"ADD JAR '{quoted}'").collect()
    spark.conf.set(_JARS_KNOWN, str(JAR))


def _try_out(spark: Any, name: str) -> None:
    """Ask the catalog once, so that what is wrong is told here and not by the first query."""
    try:
        spark.sql(f"SHOW NAMESPACES IN {name}").collect()
    except Exception as error:
        ours = graph_error(error)
        if ours is not None:
            raise ours from error
        first = str(error).strip().splitlines()[0]
        raise SparkFailed(f"the SQL catalog does not work in this session: {first}", name=name) from error
