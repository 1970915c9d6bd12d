"""Pipelines as they were applied: loads that are run by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph.base.choices import LoadMode, OnError, ReadEngine, SourceFormat
from omnigraph.base.errors import Conflict, CorruptState, NotFound
from omnigraph.base.plain import read_json
from omnigraph.execution.load.run import Load
from omnigraph.sdk.graph import Graph

_MAPPING = "mapping"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A load as its cluster declares it."""

    name: str
    digest: str
    """Of what is declared: a run that was asked for does what was declared then, or nothing."""
    graph: str
    branch: str
    from_branch: str | None
    source: tuple[str, ...]
    """Addresses; what was declared below the cluster's root is whole here."""
    mode: LoadMode
    type: str | None = None
    format: SourceFormat | None = None
    engine: ReadEngine = "auto"
    on_error: OnError = "fail"
    columns: Mapping[str, str] = field(default_factory=dict)
    """Properties by column."""
    mapping: tuple[str, str] | None = None
    """The name and the text of a mapping file."""
    description: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what callers are told: where data comes from and goes to."""
        return {
            "name": self.name,
            "graph": self.graph,
            "description": self.description,
            "branch": self.branch,
            "from_branch": self.from_branch,
            "source": list(self.source),
            "mode": self.mode,
            "type": self.type,
            "engine": self.engine,
            "on_error": self.on_error,
            "digest": self.digest,
        }

    def may_run(self, graph: Graph) -> bool:
        """Return whether the actor of a handle may run it."""
        gate = graph.policy
        return gate is None or gate.allows(graph.actor, "change", branch=self.branch)

    def run(self, graph: Graph, folder: Path, key: str | None = None) -> Load:
        """Load what the pipeline is about as one commit; `folder` takes what is written beside it."""
        mapping: Any = dict(self.columns) or None
        if self.mapping is not None:
            name, text = self.mapping
            mapping = folder / f"{_MAPPING}{Path(name).suffix}"
            mapping.write_text(text, encoding="utf-8")
        rejected = folder / "rejected.jsonl"
        rejected.unlink(missing_ok=True)  # of a run that was cut off
        return graph.load(
            self.source[0] if len(self.source) == 1 else list(self.source),
            mode=self.mode,
            branch=self.branch,
            from_branch=self.from_branch,
            engine=self.engine,
            format=self.format,
            mapping=mapping,
            type=self.type,
            on_error=self.on_error,
            rejected_to=rejected if self.on_error == "quarantine" else None,
            message=f"pipeline {self.name}",
            idempotency_key=key,
            metadata={"pipeline": self.name, "pipeline_digest": self.digest},
        )


def read_pipeline(name: str, digest: str, payload: bytes, root: str) -> Pipeline:
    """Return a pipeline as it is stored; its files lie below the cluster's root, or are addresses."""
    try:
        document: dict[str, Any] = read_json(payload)
        mapping = document.pop("mapping")
        sources = tuple(_locate(item, root) for item in document.pop("source"))
        files = None if mapping is None else (str(mapping["name"]), str(mapping["text"]))
        return Pipeline(name=name, digest=digest, source=sources, mapping=files, **document)
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptState(f"the pipeline {name!r} cannot be read: {error}", pipeline=name) from error


def find_pipeline(known: Mapping[str, Pipeline], name: str, graph: Graph) -> Pipeline:
    """Return a pipeline; one that the actor of a handle may not run is not there."""
    found = known.get(name)
    if found is None or not found.may_run(graph):
        raise NotFound(f"there is no pipeline {name!r} here", pipeline=name)
    return found


def find_declared(known: Mapping[str, Pipeline], name: str, digest: str, graph: Graph) -> Pipeline:
    """Return a pipeline as it was when its run was asked for, or say that it is another one now."""
    found = find_pipeline(known, name, graph)
    if found.digest != digest:
        raise Conflict(
            f"the pipeline {name!r} was changed after this run was asked for: ask for another", pipeline=name
        )
    return found


def _locate(source: str, root: str) -> str:
    return source if "://" in source or source.startswith("/") else f"{root}/{source}"
