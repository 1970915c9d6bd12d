"""`blob get`, `blob stat`, `blob put` and `blob clear`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.options import as_typed, expand_options, parse_count
from omnigraph.cli.output import print_bytes, print_json, print_text
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of

if TYPE_CHECKING:
    import omnigraph as og
    from omnigraph.sdk.entities.blob import BlobHandle

app = typer.Typer(help="Read and write the bytes of a blob.", no_args_is_help=True, rich_markup_mode=None)

OwnerType = Annotated[str, typer.Argument(metavar="TYPE", help="The type of the node or edge.")]
OwnerId = Annotated[str, typer.Argument(metavar="ID", help="Its id.")]
ReadBranch = Annotated[str, typer.Option("--branch", "-b", help="The branch to read.")]
WriteBranch = Annotated[str, typer.Option("--branch", "-b", help="The branch to write to.")]
At = Annotated[str | None, typer.Option("--snapshot", help="A commit, or a tag.")]
CommitMessage = Annotated[str | None, typer.Option("--message", "-m", help="Why.")]


@dataclass(frozen=True, slots=True)
class BlobName:
    """Which blob is meant."""

    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="node or edge.")]
    type_name: OwnerType
    id_: OwnerId
    name: Annotated[str, typer.Argument(metavar="PROPERTY", help="The Blob property.")]

    def find(self, graph: og.Graph, branch: str | None = None, snapshot: str | None = None) -> BlobHandle:
        """Return the blob in a graph."""
        return graph.blob(
            as_typed(self.entity), self.type_name, self.id_, self.name, branch=branch, snapshot=snapshot
        )


@app.command()
@expand_options(BlobName)
def get(
    context: typer.Context,
    options: BlobName,
    *,
    offset: Annotated[str, typer.Option(metavar="N", help="The first byte.")] = "0",
    length: Annotated[str | None, typer.Option(metavar="N", help="How many bytes, at most.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="A file instead of the terminal.")] = None,
    branch: ReadBranch = "main",
    commit: At = None,
    uri: UriOption = None,
) -> None:
    """Write the bytes of a blob to standard output or a file."""
    with report_errors(as_json=False):
        wanted = None if length is None else parse_count("--length", length)
        first = parse_count("--offset", offset)
        graph = session_of(context).open(uri)
        found = options.find(graph, branch=None if commit else branch, snapshot=commit)
        pieces = found.pieces(first, wanted)
        if out is None:
            print_bytes(pieces)
            return
        try:
            with Path(out).open("wb") as file:
                for piece in pieces:
                    file.write(piece)
        except OSError as error:
            raise BadInput(f"{out} cannot be written: {error.strerror}") from error


@app.command()
@expand_options(BlobName)
def stat(
    context: typer.Context,
    options: BlobName,
    *,
    branch: ReadBranch = "main",
    commit: At = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how many bytes a blob has, without reading them."""
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        found = options.find(graph, branch=None if commit else branch, snapshot=commit)
        if as_json:
            print_json({"size": found.size, "null": found.is_null, "commit": found.commit_id})
        else:
            print_text("null" if found.is_null else f"{found.size} bytes")


@app.command()
@expand_options(BlobName)
def put(
    context: typer.Context,
    options: BlobName,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file with the bytes; - for standard input.")
    ],
    *,
    branch: WriteBranch = "main",
    message: CommitMessage = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Store the bytes of a file as one commit."""
    with report_errors(as_json):
        data = _read(file)
        graph = session_of(context).open(uri, branch, read_only=False, announce=False)
        found = options.find(graph)
        found.put(data, message=message)
        _report(found, as_json)


@app.command()
@expand_options(BlobName)
def clear(
    context: typer.Context,
    options: BlobName,
    *,
    branch: WriteBranch = "main",
    message: CommitMessage = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Set a blob to null as one commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False, announce=False)
        found = options.find(graph)
        found.clear(message=message)
        _report(found, as_json)


def _report(found: BlobHandle, as_json: bool) -> None:
    if as_json:
        print_json({"size": found.size, "null": found.is_null, "commit": found.commit_id})
    else:
        print_text(f"{'null' if found.is_null else f'{found.size} bytes'}: commit {found.commit_id}")


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
