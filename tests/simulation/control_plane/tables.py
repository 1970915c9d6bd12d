"""Simulated tables: versions are lists of files, files are lists of tokens, both objects in the store.

Every write leaves a token of its own, and nothing ever takes one away, so what a table must hold is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from omnigraph.base.errors import ExpectedVersionMismatch, HistoricalVersionReclaimed, NotFound
from omnigraph.base.ids import new_ulid
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.merge_base import Outcome, outcome_of
from omnigraph.graph.manifest.record import CommitClass, TableEntry
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema, same_schema
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.merge.plan import MergePlan
from omnigraph.graph.merge.schemas.decide import decide_schema
from omnigraph.graph.merge.schemas.stage import as_it_is
from omnigraph.graph.merge.sides import Sides, TableOutcome, fates, same_content
from omnigraph.graph.merge.work import MergeWork
from omnigraph.graph.publish.conflict import SCHEMA
from omnigraph.graph.publish.plan import ExpectedTable, PublishPlan, WrittenTable
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.namespace import Pin, PinnedTable
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.versions.reachable import TableFiles

TABLES = {"P": "0000000000000001-0000000000000001", "Q": "0000000000000002-0000000000000002"}
"""By short name: the identities of the two tables that every graph here has."""


def key_of(name: str) -> str:
    """Return the key of a table."""
    return f"node:{name}"


def location_of(name: str) -> str:
    """Return the folder of a table."""
    return f"nodes/{TABLES[name]}"


def write_file(store: ObjectStore, location: str, tokens: Sequence[str]) -> str:
    """Store a data file and return its path inside the table's folder."""
    path = f"data/{new_ulid()}"
    store.put(f"{location}/{path}", json.dumps(list(tokens)).encode())
    return path


def write_version(store: ObjectStore, location: str, files: Sequence[str], number: int) -> Pin:
    """Store the manifest of a table version and return its pin."""
    pin = Pin(number, f"_pins/{new_ulid()}/{number}.manifest")
    store.put(f"{location}/{pin.path}", json.dumps(list(files)).encode())
    return pin


def read_version(store: ObjectStore, location: str, pin: Pin) -> list[str]:
    """Return the files of a table version."""
    return [str(item) for item in _read(store, f"{location}/{pin.path}")]


def read_tokens(store: ObjectStore, location: str, files: Iterable[str]) -> list[str]:
    """Return the tokens in files."""
    return [str(token) for file in files for token in _read(store, f"{location}/{file}")]


def _read(store: ObjectStore, path: str) -> list[object]:
    try:
        found: list[object] = json.loads(store.get(path))
    except NotFound as error:
        raise HistoricalVersionReclaimed(f"reading {path} failed: a cleanup has removed it") from error
    return found


def table_files(store: ObjectStore, key: str, table: PinnedTable) -> TableFiles:
    """Return the files of one version, as `maintenance.marking.table_files` does for Lance."""
    assert table.pin is not None
    files = read_version(store, table.location, table.pin)
    return TableFiles(table.pin.path, len(files), len(files), dict.fromkeys(files))


def written(name: str, pin: Pin, files: Sequence[str], elsewhere: bool = False) -> WrittenTable:
    """Return a version as a plan names it."""
    return WrittenTable(key_of(name), location_of(name), pin, len(files), len(files), elsewhere)


class Append:
    """Work for `commit`: a data file with a token for each table, put behind what is there."""

    operation = "append"
    commit_class = CommitClass.LOGICAL
    repeatable = True
    can_stage_again = True

    def __init__(self, token: str, tables: Sequence[str]) -> None:
        self.token, self.tables = token, tables
        self._files: dict[str, str] = {}

    def stage(self, base: WriteBase) -> None:
        """Write the data files."""
        for name in self.tables:
            self._files[name] = write_file(base.store, location_of(name), [self.token])

    def apply(self, base: WriteBase) -> None:
        """Put the files behind those of the newest version."""
        for name in self.tables:
            entry = base.rely_on(key_of(name))
            files = [*read_version(base.store, entry.location, entry.pin), self._files[name]]
            pin = write_version(base.store, entry.location, files, entry.pin.version + 1)
            base.adopt(TABLES[name], written(name, pin, files))


class Rewrite:
    """Work for `commit` that writes its tables again: an update, or without a token a compaction."""

    def __init__(self, token: str | None, tables: Sequence[str], reclaims: bool = False) -> None:
        self.token, self.tables = token, tables
        self._reclaims = reclaims
        self.operation = "update" if token else "optimize"
        self.commit_class = CommitClass.LOGICAL if token else CommitClass.MAINTENANCE
        self.repeatable = token is None

    def stage(self, base: WriteBase) -> None:
        """Do nothing: what is written depends on what is there."""

    def apply(self, base: WriteBase) -> None:
        """Write every token again, and one more; perhaps nothing earlier is to be kept."""
        if self._reclaims:
            base.reclaims = tuple(TABLES[name] for name in self.tables)
        for name in self.tables:
            entry = base.rely_on(key_of(name))
            before = read_version(base.store, entry.location, entry.pin)
            tokens = read_tokens(base.store, entry.location, before)
            if self.token:
                tokens.append(self.token)
            files = [write_file(base.store, entry.location, tokens)]
            pin = write_version(base.store, entry.location, files, entry.pin.version + 1)
            base.adopt(TABLES[name], written(name, pin, files))


class ApplySchema:
    """Work for `commit`: another schema, as `SchemaApplication` brings it, without any data to rewrite."""

    operation = "schema_apply"
    commit_class = CommitClass.LOGICAL
    repeatable = True

    def __init__(self, desired: StoredSchema, schemas: Schemas) -> None:
        self._desired, self._schemas = desired, schemas
        self._planned_from: str | None = None
        self._steps = False

    def stage(self, base: WriteBase) -> None:
        """Plan, from the schema that the branch has when the work begins."""
        schema = base.state.head.schema
        if self._planned_from is not None and not same_schema(self._planned_from, schema):
            raise ExpectedVersionMismatch(
                "the schema was changed by another writer: look at it and apply yours again",
                table_key=SCHEMA,
                expected=self._planned_from,
                actual=schema,
            )
        self._planned_from = schema
        self._steps = self._schemas.get(schema).source != self._desired.source

    def apply(self, base: WriteBase) -> None:
        """Store the schema and name it."""
        if self._steps:
            base.schema = self._schemas.put(self._desired)


class SimulatedMerge(MergeWork):
    """`MergeWork` on simulated tables: what both sides have changed gets the tokens of both."""

    _mixed: tuple[str, ...] = ()

    def plan_on(self, base: WriteBase) -> MergePlan:
        """Decide about every table from the three commits, as the real work does."""
        assert self._choose is not None
        sides = self._choose(base.state.head)
        outcome = outcome_of(sides.base, sides.ours, sides.theirs) if self._two_parents else Outcome.MERGED
        self._mixed = ()
        if outcome is Outcome.UP_TO_DATE:
            return MergePlan(sides, outcome)
        if outcome is Outcome.FAST_FORWARD:
            sides = replace(sides, on_theirs=True)
            takes = [
                identity
                for identity, entry in sides.theirs.tables.items()
                if not same_content(entry, sides.ours.tables.get(identity))
            ]
            return MergePlan(sides, outcome, takes=tuple(takes))
        chosen = decide_schema(sides, self._core.schemas, self._options.answers)
        if not isinstance(chosen, Sides):
            return MergePlan(sides, Outcome.MERGED, tuple(chosen))
        return self._plan(chosen)

    def _plan(self, sides: Sides) -> MergePlan:
        decided = fates(sides, sides.onto.tables)
        takes = [
            identity
            for identity, fate in decided.items()
            if fate is (TableOutcome.KEEP if sides.on_theirs else TableOutcome.TAKE)
            and not same_content(sides.ours.tables[identity], sides.theirs.tables[identity])
        ]
        mixed = [identity for identity, fate in decided.items() if fate is TableOutcome.MERGE]
        if not sides.on_theirs:
            # Rows of theirs that are here already, by an earlier commit made again, are no change.
            mixed = [identity for identity in mixed if self._added(sides, identity)]
            takes = [identity for identity in takes if self._added(sides, identity)]
        self._mixed = tuple(mixed)
        return MergePlan(sides, Outcome.MERGED, takes=tuple(takes))

    def _added(self, sides: Sides, identity: str) -> list[str]:
        """Return the tokens that the side that the result is not built on brings to the other."""
        store = self._core.truth.store
        here, there = sides.onto.tables[identity], sides.other.tables[identity]
        present = set(_tokens(store, here))
        return [token for token in _tokens(store, there) if token not in present]

    def _combine_tables(self, base: WriteBase, plan: MergePlan, result: Catalog) -> None:
        """Take over and mix: files of tokens have no columns to bring to the schema of the result."""
        for identity in plan.takes:
            theirs = plan.sides.theirs.tables[identity]
            base.adopt(identity, as_it_is(theirs, theirs.key))
        self._stage_rows(base, plan)

    def _stage_rows(self, base: WriteBase, plan: MergePlan) -> None:
        store, sides = self._core.truth.store, plan.sides
        for identity in self._mixed:
            onto = sides.onto.tables[identity]
            files = read_version(store, onto.location, onto.pin)
            added = self._added(sides, identity)
            if added:
                files = [*files, write_file(store, onto.location, added)]
            pin = write_version(store, onto.location, files, onto.pin.version + 1)
            base.adopt(
                identity,
                WrittenTable(onto.key, onto.location, pin, len(files), len(files), sides.on_theirs),
            )


def restage(truth: Truth, plan: PublishPlan, state: BranchState) -> PublishPlan | None:
    """Return a plan with its tokens staged on newer files, as `recovery.restage` does with rows."""
    if plan.commit_class is CommitClass.MAINTENANCE or plan.schema or plan.drops:
        return None
    head = state.head.tables
    writes, reads = dict(plan.writes), dict(plan.reads)
    for identity, expected in plan.reads.items():
        entry = head.get(identity)
        if entry is None or entry.changed_by != expected.changed_by:
            return None
        reads[identity] = ExpectedTable.of(entry)
        if identity in writes and not writes[identity].elsewhere and entry.pin.path != expected.path:
            writes[identity] = _on_top(truth.store, writes[identity], expected, entry)
    return replace(plan, reads=reads, writes=writes, base=state.head.ref)


def _on_top(
    store: ObjectStore, staged: WrittenTable, expected: ExpectedTable, entry: TableEntry
) -> WrittenTable:
    place = entry.location
    before = read_tokens(store, place, read_version(store, place, Pin(expected.version, expected.path)))
    after = read_tokens(store, place, read_version(store, place, staged.pin))
    added = [token for token in after if token not in before]
    files = [*read_version(store, place, entry.pin), write_file(store, place, added)]
    pin = write_version(store, place, files, entry.pin.version + 1)
    return WrittenTable(staged.key, place, pin, len(files), len(files))


def _tokens(store: ObjectStore, entry: TableEntry) -> list[str]:
    return read_tokens(store, entry.location, read_version(store, entry.location, entry.pin))


def tokens_of(tables: Mapping[str, TableEntry], store: ObjectStore) -> dict[str, list[str]]:
    """Return the tokens of every table of a commit, by the table's identity."""
    return {identity: _tokens(store, entry) for identity, entry in tables.items()}
