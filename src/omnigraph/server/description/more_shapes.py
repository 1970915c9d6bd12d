"""Answers about changes, entities, schemas, jobs, proposals and Lance, as the types of their members."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from omnigraph.base.choices import ChangeOp, EntityKind
from omnigraph.graph.changes.model import QueriesChange, SchemaChange
from omnigraph.graph.entity.history import EntityChange
from omnigraph.graph.history import Commit
from omnigraph.graph.maintenance.health import TableHealth
from omnigraph.graph.proposals.model import Proposal, ProposalEvent
from omnigraph.server.description.shapes import JsonMembers
from omnigraph.server.jobs.record import JobState


class CauseAnswer(TypedDict):
    """The commit that changes come from; what it does not have is left out."""

    graph_commit_id: str
    parent_commit_id: NotRequired[str]
    merged_parent_commit_id: NotRequired[str]
    authored_branch: str
    actor_id: NotRequired[str]
    authored_at: int
    operation: str
    message: NotRequired[str]
    metadata: NotRequired[dict[str, str]]


class ChangedType(TypedDict):
    """A type: its identity, which a rename keeps, and its name."""

    id: str
    name: str


class ChangeAnswer(TypedDict):
    """One node or edge: what it was and what it became, in the form of a load."""

    kind: EntityKind
    type: ChangedType
    id: str
    op: ChangeOp
    before: NotRequired[JsonMembers]
    after: NotRequired[JsonMembers]


class CommitChangesAnswer(TypedDict):
    """What a commit changed."""

    cause: CauseAnswer
    schema: NotRequired[SchemaChange]
    queries: NotRequired[QueriesChange]
    changes: list[ChangeAnswer]
    next_page_token: NotRequired[str]
    version: int | None


DiffAnswer = TypedDict(
    "DiffAnswer",
    {"from": str, "to": str, "changes": list[ChangeAnswer], "next_page_token": str | None},
)
DiffSummary = TypedDict(
    "DiffSummary",
    {
        "from": str,
        "to": str,
        "version": int,
        "schema": SchemaChange | None,
        "queries": QueriesChange | None,
        "counts": dict[str, dict[str, int]] | None,
    },
)


class ChangeBlockAnswer(TypedDict):
    """The changes of one commit, or a part of them."""

    cause: CauseAnswer
    schema: NotRequired[SchemaChange]
    queries: NotRequired[QueriesChange]
    changes: list[ChangeAnswer]
    offset: int
    complete: bool
    version: int


class FeedAnswer(TypedDict):
    """What a poll of the feed gave; the cursor stands after a whole block, the token inside of one."""

    blocks: list[ChangeBlockAnswer]
    cursor: NotRequired[str]
    page_token: NotRequired[str]
    caught_up: bool
    version: int
    proposals: NotRequired[list[ProposalEvent]]


class CommitAnswer(TypedDict):
    """The commit that a write made; null where nothing changed."""

    commit: str | None


class BlobAnswer(TypedDict):
    """The size of a blob, null when there is none, and the commit that it is of."""

    size: int | None
    commit: str


class BlobWritten(TypedDict):
    """What a write of a blob did."""

    commit_id: str | None
    affected_nodes: int
    affected_edges: int
    warnings: list[str]
    blob_commit: str


class EntityAnswer(TypedDict):
    """A node or edge, with its properties in the form of a load."""

    kind: EntityKind
    type: str
    id: str
    commit: str
    properties: JsonMembers
    ends: tuple[str, str] | None


class EdgesPage(TypedDict):
    """Edges of a node, as records of a load."""

    commit: str
    edges: list[JsonMembers]
    next_page_token: str | None


class EntityHistory(TypedDict):
    """The commits that changed a node or edge."""

    commit: str
    changes: list[EntityChange]
    next_page_token: str | None


class EntityBlame(TypedDict):
    """For each property the commit that gave it its value."""

    commit: str
    properties: dict[str, Commit]


class SameGroups(TypedDict):
    """The ids of nodes that are alike."""

    groups: list[list[str]]
    next_page_token: NotRequired[str | None]


class SchemaAnswer(TypedDict):
    """The schema of a commit: its text, and its compiled form."""

    branch: str
    schema_source: str
    catalog: JsonMembers


class SchemaPlanAnswer(TypedDict):
    """The steps to another schema."""

    supported: bool
    steps: list[JsonMembers]
    warnings: list[str]


class FindingAnswer(TypedDict):
    """One thing that does not add up."""

    code: str
    where: str
    what: str
    advice: str
    severity: str
    mended: bool


class RepairAnswer(TypedDict):
    """What a repair found, and with `confirm` fixed."""

    confirmed: bool
    findings: list[FindingAnswer]
    branches: int
    commits: int
    tables: int
    files: int
    rows: int
    ok: bool


class TablesAnswer(TypedDict):
    """How the tables of a branch are stored."""

    tables: list[TableHealth]


class JobAnswer(TypedDict):
    """A job; times are microseconds since 1970."""

    id: str
    graph: str
    kind: str
    state: JobState
    actor: str | None
    asked: JsonMembers
    created: int
    started: int | None
    ended: int | None
    attempts: int
    cancel_requested: bool
    result: Any
    error: JsonMembers | None


class JobsPage(TypedDict):
    """Jobs, newest first."""

    jobs: list[JobAnswer]
    next_page_token: str | None


class Pipelines(TypedDict):
    """The pipelines that the caller may run."""

    pipelines: list[JsonMembers]


class ProposalsPage(TypedDict):
    """Proposals, newest first."""

    proposals: list[Proposal]
    next_page_token: str | None


class LanceTables(TypedDict):
    """Names of tables."""

    tables: list[str]
    page_token: str | None


class LanceNamespaces(TypedDict):
    """Names of namespaces."""

    namespaces: list[str]
    page_token: str | None


class LanceNamespace(TypedDict):
    """What a namespace is of."""

    properties: dict[str, str]


class LanceVersions(TypedDict):
    """Versions of a table."""

    versions: list[JsonMembers]


class LanceVersion(TypedDict):
    """One version of a table."""

    version: JsonMembers


class LanceTable(TypedDict):
    """Where a table lies."""

    table: str
    namespace: list[str]
    version: int
    location: str | None
    table_uri: str | None
    storage_options: dict[str, str]
    properties: dict[str, str]
    managed_versioning: Literal[True]


class Nothing(TypedDict):
    """Nothing need be said."""
