"""`mutate` and `load`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.options import (
    EngineName,
    IdempotencyKey,
    MetadataOption,
    as_typed,
    parse_count,
    parse_metadata,
)
from omnigraph.cli.output import count_of, print_json, print_note, print_text
from omnigraph.cli.query_arguments import (
    Name,
    Params,
    ParamsFile,
    QueryFile,
    QueryText,
    query_params,
    query_text,
)
from omnigraph.cli.session import EXIT_REJECTED, AsJson, Branch, Uri, UriOption, report_errors, session_of
from omnigraph.cli.stages import SparkUi, show_stages


def mutate(
    context: typer.Context,
    name: Name = None,
    *,
    query: QueryFile = None,
    text: QueryText = None,
    params: Params = None,
    params_file: ParamsFile = None,
    branch: Branch = "main",
    if_commit: Annotated[str | None, typer.Option(help="Only if this commit is still the head.")] = None,
    retry: Annotated[
        str, typer.Option(metavar="N", help="Evaluate anew so often when another writer changes the rows.")
    ] = "0",
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    idempotency_key: IdempotencyKey = None,
    metadata: MetadataOption = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a mutation query as one commit: a stored one by its name, or the text that is given."""
    given, values = query_text(query, text, name), query_params(params, params_file)
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False, announce=False)
        done = _run(
            graph,
            given,
            values,
            name,
            if_commit=if_commit,
            retry=parse_count("--retry", retry),
            message=message,
            idempotency_key=idempotency_key,
            metadata=parse_metadata(metadata),
        )
        if as_json:
            print_json(
                {
                    "branch": graph.branch,
                    "affected_nodes": done.affected_nodes,
                    "affected_edges": done.affected_edges,
                    "commit": done.commit_id,
                    "warnings": list(done.warnings),
                }
            )
        else:
            landed = f"commit {done.commit_id}" if done.commit_id else "nothing changed"
            counts = (count_of(done.affected_nodes, "node"), count_of(done.affected_edges, "edge"))
            print_text(f"{', '.join(counts)}: {landed}")
            for warning in done.warnings:
                print_note(f"warning: {warning}")


def _run(
    graph: Any, text: str | None, params: Mapping[str, Any] | None, name: str | None, **how: Any
) -> og.Mutation:
    """Run the text, or without one what is stored under the name."""
    found: og.Mutation
    if text is None:
        found = graph.run(name, params, **how, expect_mutation=True)
    else:
        found = graph.mutate(text, params, name=name, **how)
    return found


def load(
    context: typer.Context,
    uri: Uri = None,
    *,
    data: Annotated[
        list[str], typer.Option("--data", help="A file or glob: graph records, or rows (see --type).")
    ],
    mode: Annotated[str, typer.Option(help="append, merge, patch or overwrite.")],
    branch: Branch = "main",
    source: Annotated[
        str | None, typer.Option("--from", help="Fork the branch from this one if needed.")
    ] = None,
    type_name: Annotated[
        str | None,
        typer.Option("--type", help="The data is rows of this type: Parquet, CSV, ORC, Arrow, JSON."),
    ] = None,
    mapping: Annotated[
        str | None, typer.Option(help="A mapping file: which columns make which nodes and edges.")
    ] = None,
    on_error: Annotated[str, typer.Option(help="fail, or quarantine records that are wrong.")] = "fail",
    rejected_to: Annotated[
        str | None, typer.Option(help="A new file for records that are wrong, with --on-error quarantine.")
    ] = None,
    engine: EngineName = "auto",
    spark_ui: SparkUi = False,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    idempotency_key: IdempotencyKey = None,
    metadata: MetadataOption = None,
    as_json: AsJson = False,
) -> None:
    """Load graph records as one commit, or nothing at all."""
    session = session_of(context)
    with report_errors(as_json):
        if mode == "overwrite":
            session.require_consent(uri, "replace what is there")
        graph = session.open(uri, read_only=False, takes_tables=True)
        with show_stages(context, as_json, spark_ui):
            done = graph.load(
                data if type_name is None else _require_one_file(data),
                mode=as_typed(mode),
                branch=branch,
                from_branch=source,
                type=type_name,
                mapping=mapping,
                engine=as_typed(engine),
                on_error=as_typed(on_error),
                rejected_to=rejected_to,
                message=message,
                idempotency_key=idempotency_key,
                metadata=parse_metadata(metadata),
            )
        if as_json:
            print_json(
                {
                    "branch": branch,
                    "mode": mode,
                    "nodes": done.nodes,
                    "edges": done.edges,
                    "commit": done.commit_id,
                    "rejected": done.rejected,
                    "rejected_path": done.rejected_path,
                    "engine": done.engine,
                    "engine_reason": done.engine_reason,
                    "seconds": round(done.seconds, 3),
                    "phases": {phase: round(seconds, 3) for phase, seconds in done.phases.items()},
                    "bytes_read": done.bytes_read,
                    "bytes_written": done.bytes_written,
                    "warnings": list(done.warnings),
                }
            )
        else:
            counts = [f"{name} {count:,}" for name, count in {**done.nodes, **done.edges}.items()]
            rows = sum([*done.nodes.values(), *done.edges.values()])
            pace = f" ({rows / done.seconds:,.0f} rows/s)" if rows and done.seconds else ""
            loaded = f"loaded {', '.join(counts) or 'nothing'} in {done.seconds:.1f} s{pace}"
            print_text(
                f"{loaded}: commit {done.commit_id}" if done.commit_id else f"{loaded}: no commit was made"
            )
            if done.engine not in ("local", engine):
                print_note(f"ran on {done.engine}: {done.engine_reason}")
            for warning in done.warnings:
                print_note(f"warning: {warning}")
            if done.rejected:
                print_note(f"{count_of(done.rejected, 'wrong record')} put aside in {done.rejected_path}")
        if done.rejected and not any([*done.nodes.values(), *done.edges.values()]):
            raise typer.Exit(EXIT_REJECTED)


def _require_one_file(data: list[str]) -> str:
    if len(data) != 1:
        raise typer.BadParameter("with --type give --data once: a file or a glob")
    return data[0]
