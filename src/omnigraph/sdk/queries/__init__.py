"""Stored queries as users see them: list, show, apply, remove, run."""
