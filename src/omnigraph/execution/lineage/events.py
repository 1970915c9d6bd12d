"""What events say: runs, jobs and datasets in the words of OpenLineage 2.0.2, as plain JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from os.path import abspath
from typing import Any, Literal
from urllib.parse import unquote, urlsplit
from uuid import UUID

from omnigraph.base import clock
from omnigraph.base.credentials import hide_credentials
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.lineage.target import ParentRun

EventType = Literal["START", "COMPLETE", "FAIL"]
_SPEC = "https://openlineage.io/spec"
_FACETS = {
    "errorMessage": "1-0-0/ErrorMessageRunFacet",
    "jobType": "2-0-3/JobTypeJobFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "parent": "1-0-1/ParentRunFacet",
    "processing_engine": "1-1-0/ProcessingEngineRunFacet",
    "schema": "1-0-0/SchemaDatasetFacet",
    "storage": "1-0-0/StorageDatasetFacet",
    "version": "1-0-0/DatasetVersionDatasetFacet",
}
"""The version and name of each facet by the place that it has in an event."""
_MAX_FILES = 100
_MAX_MESSAGE_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class LineageRun:
    """One run of a job: what all its events have in common."""

    run_id: str
    namespace: str
    job: str
    engine: str
    is_streaming: bool = False
    parent: ParentRun | None = None

    def event(
        self,
        kind: EventType,
        inputs: Sequence[Mapping[str, Any]],
        outputs: Sequence[Mapping[str, Any]],
        error: BaseException | None = None,
        at: int | None = None,
    ) -> Mapping[str, Any]:
        """Return an event of this run, that happens now, or at a time in epoch microseconds."""
        moment = clock.current().now_us() if at is None else at
        return {
            "eventType": kind,
            "eventTime": datetime.fromtimestamp(moment / 1e6, UTC).isoformat(),
            "producer": producer(),
            "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": self.run_id, "facets": self._run_facets(error)},
            "job": {"namespace": self.namespace, "name": self.job, "facets": self._job_facets()},
            "inputs": list(inputs),
            "outputs": list(outputs),
        }

    def _run_facets(self, error: BaseException | None) -> Mapping[str, Any]:
        package = "pyspark" if self.engine == "spark" else "omnigraph"
        found = facet("processing_engine", name=package, version=version(package))
        if self.parent is not None:
            run, job = (
                {"runId": self.parent.run_id},
                {"namespace": self.parent.namespace, "name": self.parent.job},
            )
            found |= facet("parent", run=run, job=job)
        if error is not None:
            code = getattr(error, "code", type(error).__name__)
            message = f"[{code}] {error}"[:_MAX_MESSAGE_CHARACTERS]
            found |= facet("errorMessage", message=hide_credentials(message), programmingLanguage="PYTHON")
        return found

    def _job_facets(self) -> Mapping[str, Any]:
        processing = "STREAMING" if self.is_streaming else "BATCH"
        return facet("jobType", processingType=processing, integration="OMNIGRAPH", jobType="LOAD")


def new_run_id() -> str:
    """Return an id that no run has had."""
    return str(UUID(bytes=clock.current().random_bytes(16), version=4))


def producer() -> str:
    """Return what events are signed with."""
    return f"urn:omnigraph:{version('omnigraph')}"


def facet(place: str, /, **said: Any) -> dict[str, Any]:
    """Return a facet under its place in an event."""
    numbered, _, title = _FACETS[place].partition("/")
    address = f"{_SPEC}/facets/{numbered}/{title}.json#/$defs/{title}"
    return {place: {"_producer": producer(), "_schemaURL": address, **said}}


def file_inputs(paths: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return files as datasets; of very many, the folders that they are in."""
    if len(paths) > _MAX_FILES:
        paths = sorted({path.rpartition("/")[0] or "." for path in paths})[:_MAX_FILES]
    return [_name_dataset(path) for path in dict.fromkeys(paths)]


def type_output(
    uri: str, table: TableType, commit: str, branch: str, rows: int, size: int | None
) -> Mapping[str, Any]:
    """Return a type of a graph as a dataset, with what was written to it."""
    ends = [{"name": name, "type": "String"} for name in (("from", "to") if table.kind == "edge" else ())]
    fields = [*ends, *({"name": item.name, "type": str(item.type)} for item in table.properties)]
    facets = facet("schema", fields=fields)
    facets |= facet("storage", storageLayer="lance", fileFormat="lance")
    facets |= facet("version", datasetVersion=commit, branch=branch)
    counted = {"rowCount": rows} if size is None else {"rowCount": rows, "size": size}
    return {
        **type_dataset(uri, table.table_key),
        "facets": facets,
        "outputFacets": facet("outputStatistics", **counted),
    }


def type_dataset(uri: str, table_key: str) -> Mapping[str, Any]:
    """Return the name of a type of a graph as a dataset; it is the same on all branches."""
    return _name_dataset(f"{uri.rstrip('/')}/{table_key}")


def _name_dataset(address: str) -> Mapping[str, Any]:
    """Return an address as OpenLineage names it: the place, and what lies there."""
    parts = urlsplit(address)
    if "://" not in address:
        return {"namespace": "file", "name": abspath(address)}
    if parts.scheme == "file":
        return {"namespace": "file", "name": unquote(parts.path)}
    place = parts.netloc.rpartition("@")[2]
    return {"namespace": f"{parts.scheme}://{place}", "name": parts.path.lstrip("/")}
