"""`pipeline list` and `run`: the loads that a cluster declares, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from omnigraph.base import clock
from omnigraph.base.errors import Conflict, NotFound
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.cli.config.addresses import choose_place
from omnigraph.cli.options import IdempotencyKey
from omnigraph.cli.output import count_of, print_json, print_note, print_table, print_text
from omnigraph.cli.session import EXIT_REJECTED, AsJson, Session, report_errors, session_of
from omnigraph.cli.stages import SparkUi, show_stages

if TYPE_CHECKING:
    from omnigraph.cluster.serving.applied import AppliedGraph
    from omnigraph.sdk.remote.requests.transport import Transport

app = typer.Typer(help="Run the loads that a cluster declares.", no_args_is_help=True, rich_markup_mode=None)
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.1, 2.0
"""Seconds between looks at a job."""
_COLUMNS = ("name", "graph", "branch", "mode", "engine", "description")


class DeclaredLoads(Protocol):
    """The pipelines of a cluster, stored or served."""

    def list(self) -> list[dict[str, Any]]:
        """Return what is told of each."""

    def run(self, name: str, key: str | None) -> Mapping[str, Any]:
        """Run one to its end, and return what is told of its load."""


@app.command("list")
def list_pipelines(context: typer.Context, as_json: AsJson = False) -> None:
    """List the pipelines that may be run."""
    with report_errors(as_json):
        found = _find_loads(session_of(context)).list()
        if as_json:
            print_json({"pipelines": found})
        else:
            print_table(_COLUMNS, [[item[column] for column in _COLUMNS] for item in found])


@app.command()
def run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the pipeline.")],
    idempotency_key: IdempotencyKey = None,
    spark_ui: SparkUi = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline as one commit: at a server as a job, which goes on when this is stopped."""
    session = session_of(context)
    with report_errors(as_json):
        loads = _find_loads(session)
        if isinstance(loads, _ServedLoads):
            done = loads.run(name, idempotency_key)
        else:
            with show_stages(context, as_json, spark_ui):
                done = loads.run(name, idempotency_key)
        if as_json:
            print_json({"pipeline": name, **done})
        else:
            counts = [f"{kind} {count:,}" for kind, count in {**done["nodes"], **done["edges"]}.items()]
            loaded = f"loaded {', '.join(counts) or 'nothing'} into {done['branch']}"
            print_text(f"{name}: {loaded}: commit {done['commit']}")
            for warning in done["warnings"]:
                print_note(f"warning: {warning}")
            if done["rejected"]:
                print_note(f"{count_of(done['rejected'], 'wrong record')} left out")
        if done["rejected"] and not any([*done["nodes"].values(), *done["edges"].values()]):
            raise typer.Exit(EXIT_REJECTED)


@dataclass(frozen=True, slots=True)
class _StoredLoads:
    root: str
    graph: str | None
    actor: str | None

    def list(self) -> list[dict[str, Any]]:
        known = {name: item for graph in self._read() for name, item in graph.pipelines.items()}
        return [item.to_json() for _, item in sorted(known.items())]

    def run(self, name: str, key: str | None) -> Mapping[str, Any]:
        import omnigraph as og
        from omnigraph.cli.config.clusters import root_of_graph

        graphs = self._read()
        of_graph = next((item for item in graphs if name in item.pipelines), None)
        if of_graph is None:
            raise NotFound(f"there is no pipeline {name!r} here", pipeline=name)
        found = of_graph.pipelines[name]
        graph = og.open(root_of_graph(self.root, found.graph), actor=self.actor)
        graph.blob_sources = of_graph.blob_sources(is_served=False)
        with working_folder("pipeline") as folder:
            done = found.run(graph, Path(folder), key)
        return {
            "branch": found.branch,
            "mode": found.mode,
            "nodes": done.nodes,
            "edges": done.edges,
            "commit": done.commit_id,
            "rejected": done.rejected,
            "engine": done.engine,
            "warnings": [*done.warnings],
        }

    def _read(self) -> Sequence[AppliedGraph]:
        from omnigraph.cluster.serving.applied import AppliedRevisions

        found = AppliedRevisions(self.root).read_newer()
        assert found is not None, "nothing was read before"
        if self.graph is not None and self.graph not in found.graphs:
            raise NotFound(f"the cluster at {self.root} has no graph {self.graph!r}", graph=self.graph)
        return [item for name, item in found.graphs.items() if self.graph in (None, name)]


@dataclass(frozen=True, slots=True)
class _ServedLoads:
    transport: Transport

    def list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.transport.ask("/pipelines")["pipelines"]
        return found

    def run(self, name: str, key: str | None) -> Mapping[str, Any]:
        from urllib.parse import quote

        from omnigraph.wire.errors import read_error

        job = self.transport.write(f"/pipelines/{quote(name, safe='')}", {}, key)
        pause = _FIRST_PAUSE_SECONDS
        while job["state"] in ("queued", "running"):
            clock.current().sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE_SECONDS)
            job = self.transport.ask(f"/jobs/{job['id']}")
        if job["state"] == "cancelled":
            raise Conflict(f"somebody has cancelled the job {job['id']}: nothing was loaded", job=job["id"])
        if job["state"] != "succeeded":
            raise read_error(0, job["error"])
        done = job["result"]
        kept = ("branch", "mode", "commit", "rejected", "engine", "warnings")
        counts = {
            kind: {item["name"]: item["entities_loaded"] for item in done[kind]}
            for kind in ("nodes", "edges")
        }
        return {**counts, **{member: done[member] for member in kept}}


def _find_loads(session: Session) -> DeclaredLoads:
    place = choose_place(session.flags, lambda: session.configuration)
    if place is not None and place.cluster is not None:
        from omnigraph.cluster.places import find_root

        root = find_root(session.configuration.cluster_root(place.cluster))
        return _StoredLoads(root, session.flags.graph or place.default_graph, session.acting)
    if place is None or place.server is None:
        raise typer.BadParameter("pipelines are declared by a cluster: give --cluster or --server")
    from omnigraph.sdk.remote.requests.transport import Transport

    target = session.target()
    return _ServedLoads(Transport(target.uri, target.token))
