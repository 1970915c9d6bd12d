"""Metrics of all workers in the text format of Prometheus, whichever worker is asked."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from omnigraph.base.handed.process_folders import working_folder
from omnigraph.base.ids import new_ulid
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.observe.cells import Cells, read_cells

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_INFINITE = "+Inf"
_NOWHERE = "unmatched"
"""The route of requests that found none: paths are the caller's, and would be too many names."""
_MOST_NAMES_HELD = 4_096
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_OTHER_METHOD = "other"
"""Any other method, for the same reason."""
HELP: Mapping[str, tuple[str, str]] = {
    "omnigraph_http_requests_total": ("counter", "Requests by method, route and status."),
    "omnigraph_http_request_seconds": ("histogram", "How long requests took, answers included."),
    "omnigraph_http_bytes_total": ("counter", "Bytes of bodies, in and out."),
    "omnigraph_errors_total": ("counter", "Answers that were errors, by code."),
    "omnigraph_commits_total": ("counter", "Commits that requests made, by graph and route."),
    "omnigraph_storage_operations_total": (
        "counter",
        "Operations of storage, by graph, route and name; those of writes are those whose route is a write.",
    ),
    "omnigraph_jobs_total": ("counter", "Jobs that ended, by graph, kind and state."),
    "omnigraph_calls": ("gauge", "Calls of the engine in threads, or waiting for one: reads and writes."),
    "omnigraph_streams": ("gauge", "Answers that are being streamed."),
    "omnigraph_graphs": ("gauge", "Graphs that each process serves, and those that it could not open."),
    "omnigraph_revision": ("gauge", "The revision of the cluster that each process serves."),
    "omnigraph_workers": ("gauge", "Processes that serve."),
    "omnigraph_resident_bytes": ("gauge", "Memory of each process."),
}


class Metrics:
    """The numbers of this process, and of those that share its folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Keep numbers in a folder, which is a temporary one of this process unless given."""
        self._own = None if folder else working_folder("metrics")
        self._folder = folder or Path(self._own.name if self._own else "")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._cells = Cells(self._folder / f"{os.getpid()}-{new_ulid()}")

    def count_request(self, facts: Mapping[str, Any]) -> None:
        """Count a request by what its line in the log says."""
        route, graph = facts.get("route") or _NOWHERE, facts.get("graph", "")
        method = facts["method"] if facts["method"] in _METHODS else _OTHER_METHOD
        labels = {"method": method, "route": route, "status": facts["status"]}
        self._add("omnigraph_http_requests_total", labels)
        for direction in ("in", "out"):
            self._add("omnigraph_http_bytes_total", {"direction": direction}, facts[f"bytes_{direction}"])
        seconds = facts["seconds"]
        # Each is counted in one bucket; a reader is told those below as well.
        bound = next((most for most in _BUCKETS if seconds <= most), _INFINITE)
        self._add("omnigraph_http_request_seconds_bucket", {"route": route, "le": bound})
        self._add("omnigraph_http_request_seconds_sum", {"route": route}, seconds)
        self._add("omnigraph_http_request_seconds_count", {"route": route})
        if "code" in facts:
            self._add("omnigraph_errors_total", {"code": facts["code"]})
        if route == _NOWHERE or facts["status"] == 404:
            return  # the name of a graph that is not there is the caller's
        if facts.get("commit") and facts["method"] != "GET" and facts["status"] < 400:
            self._add("omnigraph_commits_total", {"graph": graph, "route": route})
        for name, amount in (facts.get("storage") or {}).items():
            self._add_storage(graph, route, name, amount)

    def count_job(self, graph: str, kind: str, state: str, storage: Mapping[str, int]) -> None:
        """Count a job that has ended."""
        self._add("omnigraph_jobs_total", {"graph": graph, "kind": kind, "state": state})
        for name, amount in storage.items():
            self._add_storage(graph, f"job:{kind}", name, amount)

    def set_gauges(self, calls: Mapping[str, int], streams: int) -> None:
        """Say what runs now."""
        for kind in ("read", "write"):
            self._cells.put(_name("omnigraph_calls", {"kind": kind}), calls.get(kind, 0))
        self._cells.put("omnigraph_streams", streams)

    def note_graphs(self, served: ServedGraphs) -> None:
        """Say which revision this process serves from now on, and how many graphs of it."""
        own = {"process": os.getpid()}
        for state, found in (("served", served.names), ("quarantined", served.quarantined)):
            self._cells.put(_name("omnigraph_graphs", {**own, "state": state}), len(found))
        if served.revision is not None:
            self._cells.put(_name("omnigraph_revision", own), served.revision.number)

    def render(self) -> str:
        """Return the numbers of all processes. Counters of the dead count; gauges of theirs do not."""
        totals: dict[str, float] = defaultdict(float)
        for path in self._folder.iterdir():
            pid = int(path.name.partition("-")[0])
            is_alive = Path(f"/proc/{pid}").exists() if os.path.isdir("/proc") else True
            for name, value in read_cells(path).items():
                if is_alive or HELP.get(name.partition("{")[0], ("counter",))[0] != "gauge":
                    totals[name] += value
            if is_alive:
                totals["omnigraph_workers"] += 1
                totals[_name("omnigraph_resident_bytes", {"process": pid})] = _resident_bytes(pid)
        _sum_buckets(totals)
        return _render(totals)

    def close(self) -> None:
        """Write no more; the numbers stay."""
        self._cells.close()
        if self._own is not None:
            self._own.cleanup()

    def _add_storage(self, graph: str, route: str, name: str, amount: float) -> None:
        labels = {"graph": graph, "route": route, "operation": name}
        self._add("omnigraph_storage_operations_total", labels, amount)

    def _add(self, name: str, labels: Mapping[str, Any], amount: float = 1) -> None:
        self._cells.add(_name(name, labels), amount)


def _name(name: str, labels: Mapping[str, Any]) -> str:
    return _join(name, tuple(labels.items()))


@lru_cache(maxsize=_MOST_NAMES_HELD)
def _join(name: str, labels: tuple[tuple[str, Any], ...]) -> str:
    pairs = ",".join(f'{key}="{_escape(str(value))}"' for key, value in labels)
    return f"{name}{{{pairs}}}"


def _sum_buckets(totals: dict[str, float]) -> None:
    """Let each bucket of a histogram count what is in those below it too."""
    name = "omnigraph_http_request_seconds_bucket"
    routes = {labels.rpartition(",le=")[0] for labels in totals if labels.startswith(name)}
    for route in routes:
        total = 0.0
        for bound in (*_BUCKETS, _INFINITE):
            total += totals.pop(f'{route},le="{bound}"}}', 0.0)
            totals[f'{route},le="{bound}"}}'] = total


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _render(totals: Mapping[str, float]) -> str:
    lines = []
    for family, (kind, meaning) in HELP.items():
        own = {family} if kind != "histogram" else {f"{family}_{part}" for part in ("bucket", "sum", "count")}
        samples = [(name, value) for name, value in totals.items() if name.partition("{")[0] in own]
        if samples:
            lines += [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
            lines += [f"{name} {value:g}" if value < 1e6 else f"{name} {value!r}" for name, value in samples]
    return "\n".join(lines) + "\n"


def _resident_bytes(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
