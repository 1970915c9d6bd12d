"""What changed, as values: changes with their images, schema changes, the blocks of commits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from omnigraph.base.errors import BadInput
from omnigraph.base.plain import to_full_object
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.migration.plan import steps_between
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.graph.history import without_measures
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import StoredSchema

ENTITY_KINDS = ("node", "edge")
OPS = ("insert", "update", "delete")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One node or edge that differs. An insert has only `after`, a delete only `before`, an update both."""

    kind: str
    type_id: str
    """The type's identity, which a rename keeps; opaque."""
    type_name: str
    id: str
    op: str
    version: int
    """The number, on its branch, of the commit that has the change."""
    before: Json | None = None
    after: Json | None = None

    @property
    def endpoints(self) -> Mapping[str, str] | None:
        """The ends of an edge, as they are now or were last; None for a node, or without images."""
        image = self.after or self.before or {}
        return cast("Mapping[str, str] | None", image.get("endpoints"))

    def to_json(self) -> Json:
        """Return the change as JSON data."""
        type_ = {"id": self.type_id, "name": self.type_name}
        data: Json = {"kind": self.kind, "type": type_, "id": self.id, "op": self.op}
        if self.before is not None:
            data["before"] = self.before
        if self.after is not None:
            data["after"] = self.after
        return data


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Another schema: its text, what leads to it, and the compiled form, which knows identities."""

    source: str
    steps: tuple[Json, ...]
    catalog: Json
    source_before: str | None
    """None at a graph's first commit."""

    @staticmethod
    def between(before: StoredSchema | None, after: StoredSchema) -> SchemaChange:
        """Return what leads from one schema to another."""
        steps = steps_between(before.catalog, after.catalog) if before else ()
        return SchemaChange(
            after.source,
            tuple(step.to_json() for step in steps),
            codec.to_json(after.catalog),
            before.source if before else None,
        )

    def to_json(self) -> Json:
        """Return the schema change as JSON data."""
        return to_full_object(self)


@dataclass(frozen=True, slots=True)
class QueriesChange:
    """Other stored queries: the texts of those that differ, by name. What was changed is in both."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    @staticmethod
    def between(before: QuerySet, after: QuerySet) -> QueriesChange | None:
        """Return what leads from one set to another; None when they say the same."""
        old, new = before.texts, after.texts
        differ = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if not differ:
            return None
        return QueriesChange(
            {name: old[name] for name in differ if name in old},
            {name: new[name] for name in differ if name in new},
        )

    def to_json(self) -> Json:
        """Return the change as JSON data."""
        return {"before": dict(self.before), "after": dict(self.after)}


@dataclass(frozen=True, slots=True)
class Cause:
    """The commit that changes come from."""

    commit_id: str
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    branch: str
    actor: str | None
    authored_at: int
    """Microseconds."""
    operation: str
    message: str | None
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the writer has noted, without what the engine has measured."""

    @staticmethod
    def of(record: CommitRecord) -> Cause:
        """Return the cause that a commit is."""
        return Cause(
            commit_id=record.commit,
            parent_commit_id=record.parent.commit if record.parent else None,
            merged_parent_commit_id=record.merged_parent.commit if record.merged_parent else None,
            branch=record.branch,
            actor=record.actor,
            authored_at=record.created_at,
            operation=record.operation,
            message=record.message,
            metadata=without_measures(record.metadata),
        )

    def to_json(self) -> Json:
        """Return the cause as JSON data."""
        data: Json = {
            "graph_commit_id": self.commit_id,
            "parent_commit_id": self.parent_commit_id,
            "merged_parent_commit_id": self.merged_parent_commit_id,
            "authored_branch": self.branch,
            "actor_id": self.actor,
            "authored_at": self.authored_at,
            "operation": self.operation,
            "message": self.message,
            "metadata": dict(self.metadata) or None,
        }
        return {name: value for name, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """The changes of one commit, or the part of them that a page holds."""

    cause: Cause
    schema: SchemaChange | None
    """Comes with the first part; it holds before any change of the block does."""
    changes: tuple[Change, ...]
    offset: int
    """How many changes of the block came in earlier pages."""
    complete: bool
    """Whether the block ends here."""
    version: int = 0
    """The number of the commit on its branch."""
    queries: QueriesChange | None = None
    """Comes with the first part, as the schema does."""

    def to_json(self) -> Json:
        """Return the block as JSON data."""
        data: Json = {"cause": self.cause.to_json()}
        if self.schema is not None:
            data["schema"] = self.schema.to_json()
        if self.queries is not None:
            data["queries"] = self.queries.to_json()
        changes = [change.to_json() for change in self.changes]
        return {**data, "changes": changes, "offset": self.offset, "complete": self.complete}


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes are wanted; None wants all."""

    kinds: frozenset[str] | None = None
    types: frozenset[str] | None = None
    """Type names, or table keys such as `edge:Knows`."""
    ops: frozenset[str] | None = None

    @staticmethod
    def of(
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
    ) -> ChangeFilter:
        """Return a filter, or say which word of it is none."""
        return ChangeFilter(
            _words("kinds", kinds, ENTITY_KINDS), _words("types", types, None), _words("ops", ops, OPS)
        )

    def wants_type(self, kind: str, names: Sequence[str]) -> bool:
        """Return whether changes of a type are wanted, by any of the names that it has or had."""
        if self.kinds is not None and kind not in self.kinds:
            return False
        spelled = {spelling for name in names for spelling in (name, f"{kind}:{name}")}
        return self.types is None or not self.types.isdisjoint(spelled)

    def wants_op(self, op: str) -> bool:
        """Return whether changes of this kind are wanted."""
        return self.ops is None or op in self.ops

    def digest(self) -> str:
        """Return a short text that only equal filters share."""
        parts = [None if part is None else sorted(part) for part in (self.kinds, self.types, self.ops)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _words(name: str, given: Sequence[str] | None, allowed: Sequence[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    words = list(given) if is_list else []
    if not is_list or not all(isinstance(word, str) for word in words):
        raise BadInput(f"{name} is {given!r}: give a list of texts")
    for word in words:
        if allowed is not None and word not in allowed:
            raise BadInput(f"{word!r} is none of the {name}: use {', '.join(allowed)}")
    return frozenset(words)
