"""`cluster`: graphs, schemas, queries, policies, providers and pipelines that are declared as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.errors import OmniError
from omnigraph.cli.output import print_json, print_note, print_text
from omnigraph.cli.session import EXIT_FAILED, AsJson, session_of

if TYPE_CHECKING:
    from omnigraph.cluster.operations.cluster import Cluster
    from omnigraph.cluster.operations.report import ClusterReport

app = typer.Typer(
    help="Declare graphs, schemas, queries, policies and pipelines as files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ConfigFolder = Annotated[str, typer.Option("--config", help="The folder of cluster.yaml.", metavar="DIR")]


@app.command()
def validate(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Read and check all that is declared."""
    _run(context, config, as_json, lambda cluster: cluster.validate(), _tell_resources)


@app.command()
def plan(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Show what an apply would do; nothing is changed."""
    _run(context, config, as_json, lambda cluster: cluster.plan(), _tell_changes)


@app.command()
def apply(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Make what is there what is declared."""
    _run(context, config, as_json, lambda cluster: cluster.apply(), _tell_changes)


@app.command()
def approve(
    context: typer.Context,
    resource: Annotated[str, typer.Argument(help="What may be removed, such as graph.old.")],
    config: ConfigFolder = ".",
    as_json: AsJson = False,
) -> None:
    """Allow one irreversible change, exactly as it is planned now."""

    def tell(report: ClusterReport) -> None:
        print_text(f"approval {report['approval']['id']} of {report['approval']['resource']}")

    _run(context, config, as_json, lambda cluster: cluster.approve(resource), tell)


@app.command()
def status(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Show what is recorded, and whether it is whole."""
    _run(context, config, as_json, lambda cluster: cluster.status(), _tell_status)


@app.command()
def refresh(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Look at everything again, and record how it differs from what was applied."""

    def tell(report: ClusterReport) -> None:
        print_text(
            f"revision {report['state_revision']}, drifted: {', '.join(report['drifted']) or 'nothing'}"
        )

    _run(context, config, as_json, lambda cluster: cluster.refresh(), tell)


@app.command("import")
def import_(context: typer.Context, config: ConfigFolder = ".", as_json: AsJson = False) -> None:
    """Begin a ledger with the graphs that are there."""

    def tell(report: ClusterReport) -> None:
        print_text(
            f"revision {report['state_revision']}: {', '.join(report['resources']) or 'no graphs yet'}"
        )

    _run(context, config, as_json, lambda cluster: cluster.import_(), tell)


@app.command("force-unlock")
def force_unlock(
    context: typer.Context,
    lock_id: Annotated[str, typer.Argument(metavar="ID", help="The exact id of the lock.")],
    config: ConfigFolder = ".",
    as_json: AsJson = False,
) -> None:
    """Remove a lock whose process is gone."""

    def tell(report: ClusterReport) -> None:
        print_text(f"removed lock {report['unlocked']['lock_id']} of {report['unlocked']['operation']!r}")

    _run(context, config, as_json, lambda cluster: cluster.force_unlock(lock_id), tell)


def _run(
    context: typer.Context,
    folder: str,
    as_json: bool,
    act: Callable[[Cluster], ClusterReport],
    tell: Callable[[ClusterReport], None],
) -> None:
    from omnigraph.cluster.operations.cluster import Cluster

    with _report(as_json):
        report = act(Cluster(folder, actor=session_of(context).acting))
        if as_json:
            print_json(report.to_json())
        else:
            if report.ok or report.facts.get("resources") or report.facts.get("changes"):
                tell(report)
            for item in report.diagnostics:
                print_note(item.render())
        if not report.ok:
            raise typer.Exit(EXIT_FAILED)


@contextmanager
def _report(as_json: bool) -> Iterator[None]:
    """Tell an error in the shape of every answer here: not ok, with diagnostics."""
    try:
        yield
    except OmniError as error:
        given = error.details.get("diagnostics")
        found = given or [
            {
                "code": error.details.get("reason", error.code),
                "severity": "error",
                "path": error.details.get("path", "cluster"),
                "message": error.message,
            }
        ]
        if as_json:
            fields = {"error": error.message, "code": error.code, "details": _plain(error.details)}
            print_json({"ok": False, **fields, "diagnostics": found})
        else:
            print_note(f"error [{error.code}]: {error.message}")
        raise typer.Exit(EXIT_FAILED) from error


def _plain(details: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if name != "diagnostics"}


def _tell_resources(report: ClusterReport) -> None:
    for address, digest in report["resources"].items():
        print_text(f"{address} {digest[:12]}")
    if report.ok:
        print_text(f"valid, {len(report['resources'])} resources, digest {report['config_digest'][:12]}")


def _tell_changes(report: ClusterReport) -> None:
    for change in report["changes"]:
        why = f": {change['reason']}" if change.get("reason") else ""
        print_text(f"{change['operation']} {change['resource']} ({change['disposition']}){why}")
        for step in change.get("steps", ()):
            facts = ", ".join(f"{name} {value}" for name, value in step.items() if name != "kind")
            print_text(f"  {step['kind']}: {facts}")
    if report["converged"]:
        print_text("converged" if report["changes"] else "nothing to do")
    else:
        print_text(f"{len(report['changes'])} changes, not converged")


def _tell_status(report: ClusterReport) -> None:
    revision = report["state_revision"]
    if revision is None:
        return
    print_text(f"{report['cluster']}, revision {revision}, {'' if report['converged'] else 'not '}converged")
    held = report["lock"]
    if held is not None:
        print_text(f"locked by {held['operation']!r} of process {held['pid']}: {held['lock_id']}")
    for address, item in report["resources"].items():
        why = f": {item['message']}" if item["message"] else ""
        print_text(f"{address} {item['status']}{why}")
