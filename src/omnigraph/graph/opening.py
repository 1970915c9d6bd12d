"""Making a graph, and opening one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, BadInput, CorruptState, NotAGraph
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_chain_id, new_ulid
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.embedding.embedder import Embedder, EmbeddingChoice
from omnigraph.graph.branches.policy_names import PolicyNames
from omnigraph.graph.branches.sight import SeenCatalogs, Sight
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.layout import RESTORE_CLAIM, STAMP, table_identity, table_location
from omnigraph.graph.manifest.migrations import migrate
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema
from omnigraph.graph.manifest.stamp import Stamp, read_stamp, write_stamp
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.publish.chain_ends import put_genesis
from omnigraph.graph.publish.plan import WrittenTable
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.roots import holds_commits, refuse_others_files, refuse_remains
from omnigraph.policy.data.rules import DataRules
from omnigraph.storage.files.reserve import keep_reserve
from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.staging import create_table
from omnigraph.storage.tables.table import TableCache
from omnigraph.storage.versions.durability import sync_staged

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


@dataclass(frozen=True)
class Core:
    """What every handle of one opened graph shares."""

    truth: Truth
    settings: Settings
    embedder: Embedder
    """What turns texts into vectors."""
    sight: Sight | None = None
    """What its reader sees; None for all that there is."""

    def __reduce__(self) -> NoReturn:
        raise BadInput(
            "what reads from an open graph cannot be pickled, since it would take open files along: pickle "
            "the graph's handle, which opens it again there, or what was read"
        )

    def seen_by(self, policy: Gate | None, actor: str | None, *actions: str) -> Core:
        """Return the same graph as an actor sees it that does something; nothing is read twice."""
        if policy is None or not policy.has_data_rules:
            return self.whole
        sight = Sight(policy, actor, actions, self.truth, self.schemas, self.policy_names)
        seen = replace(self, sight=sight)
        for name in ("tables", "schemas", "seen_catalogs", "policy_names"):
            seen.__dict__[name] = getattr(self, name)
        seen.__dict__["whole"] = self.whole
        return seen

    @cached_property
    def whole(self) -> Core:
        """The graph with all that there is: for writers, merges and maintenance, never for answers."""
        return self

    def rules_at(self, record: CommitRecord) -> DataRules | None:
        """Return what is seen of a commit; None for everything."""
        return None if self.sight is None else self.sight.rules_at(record)

    def catalog_at(self, record: CommitRecord) -> Catalog:
        """Return the compiled schema of a commit, without what is not seen."""
        catalog, rules = self.schemas.get(record.schema).catalog, self.rules_at(record)
        return catalog if rules is None else self.seen_catalogs.get(catalog, rules)

    def commit_of(self, record: CommitRecord) -> Commit:
        """Return a commit as users see it; who may not see all data is not told how much there was of it."""
        return Commit.of(record) if self.sight is None else Commit.of(record).without_measures()

    def view(self, record: CommitRecord) -> SnapshotNamespace:
        """Return the tables of a commit by their keys, without what is not seen."""
        pinned = {key: entry.pinned for key, entry in record.by_key().items()}
        rules, store = self.rules_at(record), self.truth.store
        hidden = {} if rules is None else rules.restrictions(self.schemas.get(record.schema).catalog)
        return SnapshotNamespace(store.root_uri, store.lance_options(), pinned, hidden)

    @cached_property
    def seen_catalogs(self) -> SeenCatalogs:
        """The catalogs of actors who do not see all properties."""
        return SeenCatalogs()

    @cached_property
    def policy_names(self) -> PolicyNames:
        """What the names in policies stand for here."""
        return PolicyNames(self.truth, self.schemas)

    @cached_property
    def tables(self) -> TableCache:
        """Opened table versions."""
        return TableCache(self.settings.open_tables)

    @cached_property
    def schemas(self) -> Schemas:
        """Stored schemas."""
        return Schemas(self.truth.store)


def create_graph(
    store: ObjectStore, schema: StoredSchema, force: bool = False, actor: str | None = None
) -> Stamp:
    """Make a graph. The stamp comes last: until it stands there is no graph, and init can be run again.

    A root with files that are not of such an init is refused, unless `force` is given. The first commit
    names the actor.
    """
    try:
        read_stamp(store)
    except NotAGraph:
        pass
    else:
        raise AlreadyExists(
            f"there is a graph at {store.root_uri} already: open it, or choose another address",
            uri=store.root_uri,
        )
    refuse_remains(store)
    if not force:
        refuse_others_files(store)
    address = Schemas(store).put(schema)
    hit(Failpoint.INIT_AFTER_SCHEMA)
    tables = _create_tables(store, schema.catalog)
    hit(Failpoint.INIT_AFTER_TABLES)
    stamp = Stamp(graph_id=new_ulid(), main=new_chain_id(), created_at=clock.current().now_us())
    put_genesis(Chains(store), stamp.main, address, tables, actor)
    hit(Failpoint.INIT_AFTER_GENESIS)
    write_stamp(store, stamp)
    hit(Failpoint.INIT_AFTER_STAMP)
    keep_reserve(store)
    return stamp


def open_graph(
    store: ObjectStore, settings: Settings, read_only: bool, embedding: EmbeddingChoice = None
) -> Core:
    """Open a graph. A writer first brings it to the current format and settles what crashes left behind."""
    embedder = Embedder(embedding, settings)
    try:
        found = read_stamp(store)
    except NotAGraph as error:
        if store.exists(RESTORE_CLAIM):
            raise NotAGraph(
                f"there is no graph at {store.root_uri} yet: a restore was cut off there, run `omnigraph "
                "restore` again, which goes on with it",
                uri=store.root_uri,
            ) from error
        if holds_commits(store):
            raise CorruptState(
                f"the graph at {store.root_uri} has lost its stamp: put {STAMP} back from a backup; its "
                "commits and tables are there",
                path=STAMP,
            ) from error
        raise
    if not read_only:
        found = migrate(store, found)
    core = Core(Truth(store, found.stamp), settings, embedder)
    if not read_only:
        settle_abandoned(core.truth, settings)
    return core


def _create_tables(store: ObjectStore, catalog: Catalog) -> dict[str, WrittenTable]:
    locations = {table.table_key: table_location(table) for table in catalog.tables}
    attempt = WriteAttempt(store, {key: PinnedTable(where, None) for key, where in locations.items()})
    for table in catalog.tables:
        create_table(attempt, table.table_key, table_schema(table))
    sync_staged(store, attempt)
    pins = attempt.staged_pins()
    return {
        table_identity(table): WrittenTable(
            table.table_key, locations[table.table_key], pins[table.table_key], rows=0, fragments=0
        )
        for table in catalog.tables
    }
