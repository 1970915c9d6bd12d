"""`fmt` and `lint`: the commands about schema and query files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.errors import BadInput, NotFound, OmniError, ParseError, Unavailable
from omnigraph.cli.output import print_error, print_json, print_note, print_text
from omnigraph.cli.session import EXIT_FAILED, AsJson, Branch, Uri, report_errors, session_of
from omnigraph.storage.files.shared_files import replace_file

STDIN = "-"
_SCHEMA, _QUERIES = ".pg", ".gq"


def fmt(
    files: Annotated[
        list[str] | None, typer.Argument(help="Schema (.pg) and query (.gq) files; - for standard input.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; fail when a file would.")] = False,
    language: Annotated[
        str | None, typer.Option("--language", help="For standard input: pg or gq; gq unless given.")
    ] = None,
) -> None:
    """Rewrite schema and query files in canonical form."""
    if language not in (None, "pg", "gq"):
        raise typer.BadParameter("the languages are pg and gq")
    names = files or [STDIN]
    for name in names:
        if name != STDIN and Path(name).suffix not in (_SCHEMA, _QUERIES):
            raise typer.BadParameter(f"{name} is neither a .pg nor a .gq file")
    failed = False
    for name in names:
        try:
            differs = _format_stdin(language, check) if name == STDIN else _format_file(Path(name), check)
        except OmniError as error:
            print_error(error)
            failed = True
            continue
        failed = failed or (check and differs)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def lint(
    context: typer.Context,
    uri: Uri = None,
    *,
    query: Annotated[Path, typer.Option("--query", help="The .gq file to check.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="The .pg file; the graph's schema unless given.")
    ] = None,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Check every query of a file against a schema."""
    from omnigraph.compiler.frontend import compile_schema
    from omnigraph.compiler.frontend import lint as lint_text

    session = session_of(context)
    with report_errors(as_json):
        if schema is not None:
            if uri or any(asdict(session.flags).values()):
                raise typer.BadParameter("give a schema file or a graph, not both")
            catalog = compile_schema(_read(schema), str(schema))
            origin = {"kind": "file", "path": str(schema)}
        else:
            graph = session.open(uri, branch)
            catalog = graph.snapshot().catalog
            origin = {"kind": "graph", "uri": graph.uri}
        report = lint_text(_read(query), catalog, origin, str(query))
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    if report["status"] == "error":
        raise typer.Exit(EXIT_FAILED)


def _format_stdin(language: str | None, check: bool) -> bool:
    text = _decode(sys.stdin.buffer.read(), "<stdin>")
    done = _format_text(text, "<stdin>", f".{language}" if language else _QUERIES)
    if check and done != text:
        print_note("would reformat <stdin>")
    elif not check:
        print_text(done)
    return done != text


def _format_file(path: Path, check: bool) -> bool:
    text = _read(path)
    done = _format_text(text, str(path), path.suffix)
    if done == text:
        return False
    if check:
        print_note(f"would reformat {path}")
    else:
        _replace(path, done)
        print_note(f"reformatted {path}")
    return True


def _format_text(text: str, name: str, ending: str) -> str:
    from omnigraph.compiler.frontend import format_queries, format_schema

    return format_schema(text, name) if ending == _SCHEMA else format_queries(text, name)


def _read(path: Path) -> str:
    try:
        return _decode(path.read_bytes(), str(path))
    except FileNotFoundError as error:
        raise NotFound(f"no file {path}", path=str(path)) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", path=str(path)) from error


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(f"{name} is not UTF-8 text: byte {error.start}") from error


def _replace(path: Path, text: str) -> None:
    """Put a text in a file's place in one step, with the file's mode."""
    try:
        replace_file(path.resolve(), text.encode("utf-8"), keeps_readers=True)
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}", path=str(path)) from error


def _print_report(report: dict[str, Any]) -> None:
    for finding in report["findings"]:
        print_text(f"{finding['severity']} [{finding['code']}] {finding['message']}")
    for result in report["results"]:
        if "error" in result:
            print_text(f"error in query {result['name']}:\n{result['error']}")
        for warning in result.get("warnings", ()):
            print_text(f"warning in query {result['name']}: {warning}")
    counts = f"{report['errors']} errors, {report['warnings']} warnings"
    print_text(f"{report['queries_processed']} queries, {counts}")
