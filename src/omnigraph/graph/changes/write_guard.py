"""Who may not see all of the data may change only what it sees: the rows before, and the rows after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NoReturn

from omnigraph.base.errors import OmniError, PolicyDenied
from omnigraph.compiler.catalog.model import Catalog, LiteralValue, TableType
from omnigraph.compiler.values.results import to_json
from omnigraph.graph.changes.entities import EntityComparison, Order
from omnigraph.graph.changes.model import Change, ChangeFilter, Json
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.opening import Core
from omnigraph.storage.rows.find_rows import find_by_id

_UNTOLD = "it touches what this actor may not change"


@dataclass(frozen=True)
class DataGuard:
    """Judges commits by what leads to them: in the graph that an actor sees, it must be the same changes.

    A row that comes into sight by a change, or goes out of it, is inserted or deleted there, and updated in
    the whole graph; a hidden row is changed in the whole graph only. In both cases the two differ.
    """

    whole: Core
    seen: Core
    """The graph as the actor sees it who also wants to change it."""
    actor: str | None

    def catalog_at(self, record: CommitRecord) -> Catalog:
        """Return the types of a commit as the actor sees them."""
        return self.seen.catalog_at(record)

    def refuse_untold(self, record: CommitRecord) -> NoReturn:
        """Raise PolicyDenied for what cannot be told without saying what is hidden."""
        raise self._denial(_UNTOLD, record)

    def check(self, before: CommitRecord, after: CommitRecord, *, names_rows: bool = False) -> None:
        """Raise PolicyDenied unless the actor sees all that leads from one commit to another."""
        rules = self.seen.rules_at(before), self.seen.rules_at(after)
        if rules == (None, None):
            return
        if not same_schema(before.schema, after.schema):
            raise self._denial("who does not see all data cannot change the schema", after)
        hidden = self._hidden_properties(after)
        changes = (self._changes(core, before, after) for core in (self.whole, self.seen))
        for real, seen in zip_longest(*changes):
            if real is None or seen is None or _what(real) != _what(seen):
                raise self._denial(_explain(real, seen) if names_rows else _UNTOLD, after)
            if names := hidden.get((real.kind, real.type_name)):
                self._check_hidden(real, names, after)

    def require_sight(self, records: Sequence[CommitRecord], entities: Iterable[tuple[str, str]]) -> None:
        """Raise PolicyDenied if the actor does not see some entities (table key and id) in a commit."""
        for key, id_ in entities:
            for record in records:
                there, seen = (self._holds(core, record, key, id_) for core in (self.whole, self.seen))
                if there and not seen:
                    self.refuse_untold(record)

    def hide_stored_rows(self, error: OmniError) -> OmniError:
        """Return an error about rows without what it says of stored ones, which may be hidden.

        That a key or a unique value is taken cannot be kept secret, only by whom.
        """
        problems = error.details.get("problems")
        if not isinstance(problems, list):
            return error
        told = list({str(item): item for item in map(_hide_stored, problems)}.values())
        lines = [f"{item['place']}: {item['message']}" if item["place"] else item["message"] for item in told]
        return type(error)("\n".join(lines), problems=told, total=len(told))

    def _holds(self, core: Core, record: CommitRecord, key: str, id_: str) -> bool:
        entry = record.by_key().get(key)
        return entry is not None and find_by_id(core.tables.get(core.view(record), key), id_) is not None

    def _changes(self, core: Core, before: CommitRecord, after: CommitRecord) -> Iterator[Change]:
        everything = ChangeFilter.of(None, None, None)
        images = core is self.whole and bool(self._hidden_properties(after))
        return EntityComparison(core, before, after, everything, Order.DIFF, images).stream()

    def _hidden_properties(self, record: CommitRecord) -> dict[tuple[str, str], Sequence[tuple[str, Any]]]:
        """Return the hidden properties by kind and name of type, each with the value that a new row has."""
        rules = self.seen.rules_at(record)
        if rules is None:
            return {}
        tables = self.whole.catalog_at(record).tables
        found: dict[tuple[str, str], Sequence[tuple[str, Any]]] = {}
        for table in tables:
            names = rules.of(table.table_key).hidden
            if names:
                found[table.kind, table.name] = [(name, _default_of(table, name)) for name in sorted(names)]
        return found

    def _check_hidden(self, change: Change, names: Sequence[tuple[str, Any]], after: CommitRecord) -> None:
        if change.after is None:
            return
        new = change.after["properties"]
        old = change.before["properties"] if change.before is not None else dict(names)
        for name, _ in names:
            if new.get(name) != old.get(name):
                raise self._denial(f"{change.type_name} has properties that this actor does not see", after)

    def _denial(self, why: str, record: CommitRecord) -> PolicyDenied:
        return PolicyDenied(
            f"the rules about data do not let {self.actor!r} make this change: {why}",
            actor=self.actor,
            branch=record.branch,
            action="change",
        )


def _hide_stored(problem: Json) -> Json:
    place, rule = problem["place"], problem["rule"]
    own = [] if problem["entity_id"] is None else [problem["entity_id"]]
    if isinstance(place, str) and place.startswith("stored "):
        return {
            **problem,
            "place": None,
            "value": None,
            "entity_id": None,
            "entities": [],
            "message": "what is stored needs what goes away",
        }
    if rule == "card":
        message = f"@card violation on edge {problem['type']}: a node has too many of them, or too few"
        return {**problem, "message": message, "value": None, "entities": own}
    if rule == "unique":
        told = problem["message"].partition(", as has the stored ")[0]
        return {**problem, "message": told, "entities": own}
    return problem


def _what(change: Change) -> tuple[str, str, str, str]:
    return change.kind, change.type_id, change.id, change.op


def _explain(real: Change | None, seen: Change | None) -> str:
    """Return why a change is refused; what the actor does not see is not told."""
    if real is not None and real.op == "insert":
        return f"{real.type_name} {real.id!r} would be outside of what it may see and change"
    if seen is not None and real is not None and (seen.id, seen.op, real.op) == (real.id, "delete", "update"):
        return f"{real.type_name} {real.id!r} would go out of what it may see and change"
    return _UNTOLD


def _default_of(table: TableType, name: str) -> Any:
    declared = table.by_name[name]
    value: LiteralValue = declared.default.value if declared.default is not None else None
    return value if declared.default is None or isinstance(value, str) else to_json(value, declared.type)
