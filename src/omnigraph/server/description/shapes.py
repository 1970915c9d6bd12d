"""Answers about the server, reads, writes, queries, branches and commits, as the types of their members."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from omnigraph.base.choices import LoadMode
from omnigraph.execution.plan.explain import Explanation
from omnigraph.graph.history import Commit
from omnigraph.graph.tags import Tag

JsonMembers = dict[str, Any]
"""By name; whole numbers beyond 2^53 - 1 are strings."""


class Health(TypedDict):
    """How a worker is; which graphs there are is told to those who may know."""

    status: Literal["ok"]
    version: str
    internal_schema_version: int
    state: str
    graphs_served: int
    graphs_quarantined: int
    graphs: NotRequired[list[str]]
    quarantined: NotRequired[dict[str, str]]
    revision: NotRequired[int]
    takes_over: NotRequired[bool]


class Readiness(TypedDict):
    """That requests may come."""

    status: Literal["ready"]


class GraphNames(TypedDict):
    """Names of graphs; the token is there when a part was asked for."""

    graphs: list[str]
    next_page_token: NotRequired[str | None]


class HandleAnswer(TypedDict):
    """What a handle of a graph knows."""

    graph: str
    id: str
    branch: str
    incarnation: str
    actor: str | None
    read_only: bool
    actions: list[str]


class ActorRights(TypedDict):
    """What an actor may do on each branch."""

    actor: str | None
    branches: dict[str, list[str]]


class AccessAnswer(TypedDict):
    """Who may do what: the caller, and whoever else the caller may know of."""

    state: str
    actors: list[ActorRights]


class ColumnAnswer(TypedDict):
    """A column of a result: its name, and its type as in a schema."""

    name: str
    type: str


class ReadTarget(TypedDict):
    """What a query was asked of."""

    branch: str | None
    snapshot: str | None


class QueryAnswer(TypedDict):
    """Rows of a read query."""

    query_name: str | None
    target: ReadTarget
    row_count: int
    columns: list[ColumnAnswer]
    rows: list[JsonMembers]
    graph_commit_id: str
    engine: str


class MutationAnswer(TypedDict):
    """What a mutation did; no commit where nothing changed."""

    branch: str
    query_name: str | None
    affected_nodes: int
    affected_edges: int
    warnings: list[str]
    actor_id: str | None
    commit: str | None


class PlanAnswer(TypedDict):
    """The plan of a query: as text, as a tree for programs, and whole."""

    text: str
    plan: JsonMembers
    explanation: Explanation


class DatasetAnswer(TypedDict):
    """A table of a commit."""

    key: str
    rows: int
    version: int
    distinct: dict[str, int]


class SnapshotAnswer(TypedDict):
    """A commit and its tables."""

    branch: str
    commit: str
    version: int
    record: Commit
    datasets: list[DatasetAnswer]


class ExportedTypes(TypedDict):
    """What an export would send."""

    commit: str
    nodes: list[str]
    edges: list[str]


class LoadedType(TypedDict):
    """How many nodes or edges of a type were loaded."""

    name: str
    entities_loaded: int


class LoadAnswer(TypedDict):
    """What a load did."""

    branch: str
    base_branch: str | None
    mode: LoadMode
    nodes: list[LoadedType]
    edges: list[LoadedType]
    total_entities: int
    rejected: int
    rejected_records: list[str]
    warnings: list[Any]
    engine: str
    engine_reason: str
    seconds: float
    bytes_read: int
    bytes_written: int
    phases: JsonMembers
    actor_id: str | None
    commit: str | None


class QueryParameterAnswer(TypedDict):
    """A parameter of a stored query."""

    name: str
    kind: str
    item_kind: NotRequired[str]
    vector_dim: NotRequired[int]
    nullable: bool


class StoredQueryAnswer(TypedDict):
    """A stored query: what it says and takes; its text where that was asked for."""

    name: str
    tool_name: str
    description: str | None
    instruction: str | None
    mutation: bool
    params: list[QueryParameterAnswer]
    text: NotRequired[str]
    file: NotRequired[str]
    line: NotRequired[int]


class StoredQueries(TypedDict):
    """Stored queries, by name."""

    queries: list[StoredQueryAnswer]
    next_page_token: NotRequired[str | None]


class BranchesPage(TypedDict):
    """Names of branches: main, then the others by name."""

    branches: list[str]
    next_page_token: NotRequired[str | None]


class BranchName(TypedDict):
    """The name of a branch."""

    name: str


class TagsPage(TypedDict):
    """Tags, by name."""

    tags: list[Tag]
    next_page_token: NotRequired[str | None]


class CommitsPage(TypedDict):
    """Commits, newest first."""

    commits: list[Commit]
    next_page_token: str | None
