"""Reads the graph when all clients are gone, through plain scans and exports, stage by stage."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from jepsen.client import hurry
from jepsen.content import Content, read_content, summary_of, tokens_of

if TYPE_CHECKING:
    import omnigraph as og

LAST = "observer-0"
"""The token of the last write, after everything else."""


def observe(
    connection: Connection,
    uri: str,
    options: Mapping[str, str] | None,
    environment: Mapping[str, str],
) -> None:
    """Send what the graph says."""
    os.environ.update(environment)
    os.environ["OMNIGRAPH_CLEANUP_GRACE_SECONDS"] = "0"
    os.environ["OMNIGRAPH_PLAN_LEASE_SECONDS"] = "0"
    hurry(0.0)
    connection.send(Observer(uri, options).look())


class Observer:
    """What was found so far; a stage that fails is noted, and the next one is tried."""

    def __init__(self, uri: str, options: Mapping[str, str] | None) -> None:
        self.uri, self.options = uri, options
        self.found: dict[str, Any] = {"errors": []}

    def look(self) -> dict[str, Any]:
        """Read everything as it is left, then settle, clean up, and read it again."""
        import omnigraph as og

        with self.stage("open for reading"):
            reading = og.open(self.uri, read_only=True, storage_options=self.options)
            self.read(reading, "left")
        with self.stage("open"):
            graph = og.open(self.uri, storage_options=self.options, actor="observer")
            self.read(graph, "settled")
            self.found["damage"] = self.damage(graph)
            self.read_history(graph)
            for _ in range(3):
                self.clean(graph)
            self.read(graph, "cleaned")
            self.found["damage_after_cleanup"] = self.damage(graph)
            with self.stage("clean up again"):
                self.found["files_left"] = graph.cleanup(keep=1, dry_run=True).files
            with self.stage("write"):
                gq = "query q($t: String) { insert Token { token: $t } }"
                graph.mutate(gq, {"t": LAST})
                last = tokens_of(read_content(og.open(self.uri, storage_options=self.options).snapshot()))
                self.found["last_writes"] = last[LAST]
        return self.found

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note an error of a stage."""
        try:
            yield
        except Exception as error:
            code = getattr(error, "code", type(error).__name__)
            noted = {"stage": name, "code": code, "message": str(error), "trace": traceback.format_exc()}
            self.found["errors"].append(noted)

    def read(self, graph: og.Graph, moment: str) -> None:
        """Read all branches and tags."""
        branches: dict[str, Any] = {}
        tags: dict[str, Any] = {}
        self.found[moment] = {"branches": branches, "tags": tags}
        with self.stage(f"{moment}: list branches"):
            for name in graph.branches.list():
                with self.stage(f"{moment}: branch {name}"):
                    snapshot = graph.snapshot(name)
                    branches[name] = _whole(read_content(snapshot), graph.export(snapshot=snapshot))
        with self.stage(f"{moment}: list tags"):
            for tag in graph.tags.list():
                with self.stage(f"{moment}: tag {tag.name}"):
                    tags[tag.name] = summary_of(read_content(graph.snapshot(tag=tag.name)))

    def read_history(self, graph: og.Graph) -> None:
        """Read the commits of all branches."""
        history: dict[str, Any] = {}
        self.found["history"] = history
        for name in self.found["settled"]["branches"]:
            with self.stage(f"history of {name}"):
                history[name] = [
                    {
                        "commit": commit.id,
                        "parent": commit.parent,
                        "merged_parent": commit.merged_parent,
                        "branch": commit.branch,
                        "version": commit.version,
                        "message": commit.message,
                        "operation": commit.operation,
                        "at": commit.created_at.timestamp(),
                        "notes": [note.get("operation_id") for note in commit.recovery],
                    }
                    for commit in graph.commits.list(name)
                ]

    def damage(self, graph: og.Graph) -> list[str]:
        """Return the damage that `repair` tells."""
        found: list[str] = []
        with self.stage("repair"):
            for item in graph.repair().findings:
                if item.severity == "damage":
                    found.append(f"{item.code} {item.where}: {item.what}")
        return found

    def clean(self, graph: og.Graph) -> None:
        """Clean up with nobody else at work."""
        with self.stage("clean up"):
            done = graph.cleanup(keep=1, older_than=timedelta(0))
            for key, error in done.errors.items():
                self.found["errors"].append(
                    {"stage": "clean up", "code": "sweep", "message": f"{key}: {error}"}
                )


def _whole(content: Content, export: Any) -> dict[str, Any]:
    """Return a branch's summary; its export must have as many rows of each type as its scan."""
    summary = summary_of(content)
    exported = Counter(str(record.get("type", record.get("edge"))) for record in export)
    scanned = Counter({name: len(rows) for name, rows in content.rows.items() if rows})
    if exported != scanned:
        summary["problems"].append(f"torn: the export has {dict(exported)}, the scan {dict(scanned)}")
    return summary
