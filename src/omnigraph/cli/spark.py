"""`omnigraph spark`: what makes Spark start more quickly."""

from __future__ import annotations

import typer

from omnigraph.cli.output import print_json, print_note, print_text
from omnigraph.cli.session import AsJson, report_errors

app = typer.Typer(help="Prepare Spark on this machine.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Keep `prepare` a command of its own: Typer would make it the group."""


@app.command()
def prepare(as_json: AsJson = False) -> None:
    """Keep the classes that Spark loads in a file, from which Java starts in half the time."""
    from omnigraph.spark.archive import prepare as write_archive

    with report_errors(as_json):
        if not as_json:
            print_note("starting Spark once, to see what it loads")
        path = write_archive()
        size = path.stat().st_size
        if as_json:
            print_json({"archive": str(path), "bytes": size})
        else:
            print_text(
                f"wrote {path} ({size / 2**20:.0f} MiB); every session on this machine starts from it now"
            )
