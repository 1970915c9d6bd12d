"""Spark for users of OmniGraph: the session that everything here runs on, and its data source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from omnigraph.pipeline.error_transport import graph_error
from omnigraph.pipeline.progress import watch_stages as watched
from omnigraph.pipeline.session import session, stop, ui_address
from omnigraph.spark.archive import prepare

__all__ = ["attach", "graph_error", "prepare", "register", "session", "stop", "ui_address", "watched"]


def register(spark: Any) -> None:
    """Let a session that somebody else made read and write graphs: `spark.read.format("omnigraph")`."""
    from omnigraph.pipeline.datasource import register as register_source
    from omnigraph.pipeline.worker_python import require_worker_python

    require_worker_python(spark)
    register_source(spark)


def attach(
    spark: Any,
    uri: Any,
    name: str = "og",
    *,
    storage_options: Mapping[str, str] | None = None,
    actor: str | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> None:
    """Make a graph a catalog of a session: `SELECT name FROM og.main.Person VERSION AS OF 7 WHERE age > 40`.

    Namespaces are branches and tags, tables are node and edge types. It works for any session: embedded,
    somebody else's, a Spark Connect server's, a cluster's. Its commits are by `actor`; `policy`,
    a file or a text of YAML, says what `actor` may do.
    """
    from omnigraph.pipeline.sql.attach import attach_graph

    attach_graph(spark, uri, name, storage_options, actor, policy)
