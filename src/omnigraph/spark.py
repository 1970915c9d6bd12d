"""Spark for users of OmniGraph: the session that everything here runs on."""

from omnigraph.pipeline.session import session, stop, ui_address

__all__ = ["session", "stop", "ui_address"]
