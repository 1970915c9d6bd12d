"""The options of the data source: their names, which can be combined, and the graph that they open."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

from omnigraph.base.errors import BadInput
from omnigraph.base.plain import read_json
from omnigraph.base.settings import Settings
from omnigraph.compiler.source import suggest
from omnigraph.graph.handle import Graph
from omnigraph.graph.opening import open_graph
from omnigraph.policy.read_bundle import open_gate, read_policy_text
from omnigraph.storage.objects import open_store
from omnigraph.storage.objects.options import portable_options

STORAGE_PREFIX = "storage."
WRITE_OPTIONS = (
    "mode",
    "idempotency_key",
    "message",
    "mapping",
    "metadata",
    "app_id",
    "on_error",
    "rejected_to",
    "mergeSchema",
)
_GRAPH_OPTIONS = ("graph", "branch", "columns", "actor", "policy")
_PIN_OPTIONS = ("commit", "version", "tag", "timestamp")
_OTHER_NAMES = {
    "versionAsOf": "version",
    "timestampAsOf": "timestamp",
    "mergeSchema": "mergeSchema",
    "uri": "graph",
    "table": "path",
    "type": "path",
}
"""What users of Delta and of `g.load` call options, whatever the case of the letters."""
_TABLE_OPTIONS = ("path", "where", "rows_per_task", *WRITE_OPTIONS)
_QUERY_OPTIONS = ("query", "params", "name")
_FEED_OPTIONS = ("changes", "kinds", "types", "ops", "commits")
_OF_SPARK = ("checkpointlocation",)
"""Options of a stream that Spark hands on with ours."""
_ALL_OPTIONS = (*_GRAPH_OPTIONS, *_PIN_OPTIONS, *_TABLE_OPTIONS, *_QUERY_OPTIONS, *_FEED_OPTIONS)


def with_own_names(told: Mapping[str, str]) -> dict[str, str]:
    """Return options by our names; Spark may have turned the other names into small letters."""
    known = {name.lower(): own for name, own in _OTHER_NAMES.items()}
    found: dict[str, str] = {}
    for name, value in told.items():
        own = known.get(name.lower(), name)
        if found.setdefault(own, value) != value:
            raise BadInput(
                f"the option {own} is given twice: as {found[own]!r}, and as {name} {value!r}", option=own
            )
    return found


def check_options(told: Mapping[str, str]) -> None:
    """Refuse unknown options, and options that cannot be combined."""
    for name in told:
        if name.lower() not in _OF_SPARK and name not in _ALL_OPTIONS and not name.startswith(STORAGE_PREFIX):
            hint = suggest(name, _ALL_OPTIONS)
            raise BadInput(f"there is no option {name!r}" + (f": {hint}" if hint else ""), option=name)
    if "changes" in told:
        _refuse(
            told,
            (*_PIN_OPTIONS, *_TABLE_OPTIONS, *_QUERY_OPTIONS),
            "the option {} cannot be combined with changes",
        )
        return
    _refuse(told, _FEED_OPTIONS, "the option {} is for the change feed: give the option changes as well")
    if "query" in told:
        _refuse(told, _TABLE_OPTIONS, "the option {} is for tables and cannot be combined with query")
    else:
        _refuse(told, _QUERY_OPTIONS, "the option {} is for a query: give the option query")


def read_list(told: Mapping[str, str], name: str) -> list[str] | None:
    """Return the items of a comma-separated option; None when it was not given."""
    return [word.strip() for word in told[name].split(",") if word.strip()] if name in told else None


def read_count(told: Mapping[str, str], name: str) -> int | None:
    """Return the value of a numeric option, at least 1; None when it was not given."""
    if name not in told:
        return None
    if not told[name].isascii() or not told[name].isdigit() or int(told[name]) < 1:
        raise BadInput(f"the option {name} is {told[name]!r}: it must be a whole number of 1 or more")
    return int(told[name])


def read_strings(told: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the value of an option that is a JSON object of strings; empty when it was not given."""
    try:
        found = read_json(told.get(name, "{}"))
    except ValueError as error:
        raise BadInput(f"the option {name} is not JSON: {error}", option=name) from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(f"the option {name} must be a JSON object of strings", option=name)
    return found


def read_flag(told: Mapping[str, str], name: str) -> bool:
    """Return the value of an option that is true or false; false when it was not given."""
    given = told.get(name, "false").lower()
    if given not in ("true", "false"):
        raise BadInput(f"the option {name} is {told[name]!r}: it is true or false", option=name)
    return given == "true"


def open_from_options(told: Mapping[str, str], read_only: bool) -> Graph:
    """Open the graph that the options name."""
    address = told.get("graph")
    if not address:
        raise BadInput('which graph? give its address: .option("graph", "s3://…")')
    storage = _storage_options(told)
    gate = open_gate(told["policy"]) if "policy" in told else None
    core = open_graph(open_store(address, storage), Settings.from_environment(), read_only)
    graph = Graph(core, told.get("branch", "main"), read_only, told.get("actor"), gate)
    graph.internals.refuse_misfit()
    return graph


def without_credentials(told: Mapping[str, str]) -> dict[str, str]:
    """Return options that a task may be sent: the name of a file stands for what is secret."""
    rest = {name: value for name, value in told.items() if not name.startswith(STORAGE_PREFIX)}
    return rest | prefixed_options(portable_options(_storage_options(told), _session_process()))


def prefixed_options(storage: Mapping[str, str]) -> dict[str, str]:
    """Return storage options by the names that they have among options of Spark."""
    return {f"{STORAGE_PREFIX}{name}": value for name, value in storage.items()}


def _storage_options(told: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(STORAGE_PREFIX): value
        for name, value in told.items()
        if name.startswith(STORAGE_PREFIX)
    }


def _session_process() -> int:
    """Return a process that lives as long as the session: Spark ends its workers when it likes."""
    program = getattr(sys.modules["__main__"], "__spec__", None)
    return os.getppid() if program is not None and program.name.startswith("pyspark.") else os.getpid()


def with_policy_text(told: Mapping[str, str]) -> Mapping[str, str]:
    """Return options with the text of a policy instead of its path, which tasks elsewhere cannot read."""
    return told if "policy" not in told else {**told, "policy": read_policy_text(told["policy"])}


def _refuse(told: Mapping[str, str], names: Iterable[str], message: str) -> None:
    for name in names:
        if name in told:
            raise BadInput(message.format(name), option=name)
