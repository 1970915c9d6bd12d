"""Spark for users of OmniGraph: the session that everything here runs on, and its data source."""

from __future__ import annotations

from typing import Any

from omnigraph.pipeline.error_transport import graph_error
from omnigraph.pipeline.progress import watch_stages as watched
from omnigraph.pipeline.session import session, stop, ui_address

__all__ = ["graph_error", "register", "session", "stop", "ui_address", "watched"]


def register(spark: Any) -> None:
    """Let a session that somebody else made read and write graphs: `spark.read.format("omnigraph")`."""
    from omnigraph.pipeline.datasource import register as register_source

    register_source(spark)
