"""One load by both engines, and all that a caller can see of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.base.ids import is_ulid
from support.stored_graph import read_back


def said(graph: og.Graph) -> dict[str, list[str]]:
    """Return every row of a graph; an id that was minted is as good as any other."""
    found = read_back(graph.snapshot())
    return {
        **{name: sorted(_row(id_, row) for id_, row in rows.items()) for name, rows in found.nodes.items()},
        **{
            name: sorted(_row(id_, (edge.source, edge.target, edge.values)) for id_, edge in rows.items())
            for name, rows in found.edges.items()
        },
    }


def _row(id_: str, values: Any) -> str:
    return repr(("minted" if is_ulid(id_) else id_, values))


def outcome(root: Path, source: Any, engine: str, **options: Any) -> tuple[Any, ...]:
    """Load with an engine and return all that a caller can see of it."""
    graph = og.open(root)
    try:
        done = graph.load(source, engine=engine, **options)
    except og.OmniError as error:
        return type(error), str(error), error.details, said(graph)
    assert done.engine == engine
    put_away = Path(done.rejected_path).read_text() if done.rejected_path else None
    told = replace(done, commit_id=str(done.commit_id is not None), engine="", seconds=0.0)
    told = replace(told, phases=dict.fromkeys(told.phases, 0.0), bytes_written=0)
    return told, put_away, said(graph)


def both(template: Path, folder: Path, source: Any, **options: Any) -> Iterator[tuple[Any, ...]]:
    """Load into two copies of a graph, with either engine; a source may be a function that gives one."""
    for engine in ("local", "spark"):
        root = folder / engine
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        if "rejected_to" in options:
            Path(options["rejected_to"]).unlink(missing_ok=True)
        given = source() if isinstance(source, Callable) else source
        yield outcome(root, given, engine, **options)
