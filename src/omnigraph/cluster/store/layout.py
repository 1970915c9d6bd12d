"""Where a cluster's objects lie below its root."""

from __future__ import annotations

from omnigraph.cluster.resources import PAYLOAD_ENDINGS, kind_of
from omnigraph.sdk.managed import GRAPH_ENDING, GRAPHS, LEDGER

CONTROL = "__cluster"
STATE = LEDGER
LOCK = f"{CONTROL}/lock.json"
RECOVERIES = f"{CONTROL}/recoveries"
APPROVALS = f"{CONTROL}/approvals"


def graph_path(id: str) -> str:
    """Return the folder of a graph."""
    return f"{GRAPHS}/{id}{GRAPH_ENDING}"


def graph_at(path: str) -> str | None:
    """Return the graph whose folder a path is, or lies in."""
    parts = path.split("/")
    if len(parts) < 2 or parts[0] != GRAPHS or not parts[1].endswith(GRAPH_ENDING):
        return None
    return parts[1].removesuffix(GRAPH_ENDING)


def payload_path(address: str, digest: str) -> str:
    """Return the path of a resource's payload; what was stored there never changes."""
    kind, *names = address.split(".")
    return f"{CONTROL}/resources/{kind}/{'/'.join(names)}/{digest}.{PAYLOAD_ENDINGS[kind]}"


def has_payload(address: str) -> bool:
    """Return whether something is stored of a resource beside the ledger."""
    return kind_of(address) in PAYLOAD_ENDINGS


def intent_path(id: str) -> str:
    """Return the path of an intent."""
    return f"{RECOVERIES}/{id}.json"


def approval_path(id: str) -> str:
    """Return the path of an approval."""
    return f"{APPROVALS}/{id}.json"
