"""`StoredQuery` and `QuerySet`: named queries, what they take, and whether they fit a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.base.errors import NotFound, OmniError, StoredQueryBroken, TypeCheckError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import QueryKind, compile_query
from omnigraph.compiler.lint.operation import describe_type
from omnigraph.compiler.source import make_printable, suggest
from omnigraph.compiler.types import PropertyType

_MAX_SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of a stored query."""

    name: str
    type: PropertyType

    def to_json(self) -> dict[str, Any]:
        """Return the parameter as a catalog of queries lists it."""
        return {"name": self.name, **describe_type(self.type), "nullable": self.type.nullable}


@dataclass(frozen=True, slots=True)
class BrokenQuery:
    """A stored query that does not fit a schema, where it was declared, and why."""

    name: str
    place: str
    message: str

    def to_json(self) -> dict[str, str]:
        """Return it as plain JSON data."""
        return {"name": self.name, "place": self.place, "message": self.message}


@dataclass(frozen=True)
class StoredQuery:
    """A query under its name: one query as text, and what can be said of it without a schema."""

    name: str
    text: str
    kind: QueryKind
    params: tuple[QueryParameter, ...] = ()
    description: str | None = None
    instruction: str | None = None
    file: str = field(default="", compare=False)
    """The file that declares it, relative to the folder that was given."""
    line: int = field(default=1, compare=False)
    """The line of that file on which the text begins."""

    @property
    def is_mutation(self) -> bool:
        """Whether it changes the graph."""
        return self.kind == "mutation"

    @property
    def place(self) -> str:
        """Where it was declared, for messages."""
        return f"{self.file}:{self.line}" if self.file else ""

    def find_fault(self, catalog: Catalog) -> BrokenQuery | None:
        """Return why the query does not fit a schema; None when it does."""
        try:
            compile_query(self.text, catalog, self.name, file=self.file)
        except TypeCheckError as error:
            problems = [replace(item, line=item.line + self.line - 1) for item in error.diagnostics]
            shown = "\n".join(item.render(self.file) for item in problems)
            return BrokenQuery(self.name, self.place, shown)
        except OmniError as error:
            return BrokenQuery(self.name, self.place, error.message)
        return None


@dataclass(frozen=True)
class QuerySet(Mapping[str, StoredQuery]):
    """Stored queries by name, in the order of their names."""

    by_name: Mapping[str, StoredQuery] = field(default_factory=dict)

    @staticmethod
    def of(queries: Iterable[StoredQuery]) -> QuerySet:
        """Return a set of queries; of two with one name the later one is in it."""
        return QuerySet(dict(sorted({query.name: query for query in queries}.items())))

    def __getitem__(self, name: str) -> StoredQuery:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str) -> StoredQuery:
        """Return the query with this name, or say that there is none."""
        found = self.by_name.get(name) if isinstance(name, str) else None
        if found is None:
            raise unknown_query_error(name, self.by_name)
        return found

    def extend(self, more: Mapping[str, StoredQuery]) -> QuerySet:
        """Return a set with others added, which replace those of the same names."""
        return QuerySet.of([*self.values(), *more.values()])

    def without(self, names: Iterable[str]) -> QuerySet:
        """Return a set that lacks some names, each of which this one has."""
        gone = {self.find(name).name for name in names}
        return QuerySet.of(query for name, query in self.items() if name not in gone)

    def find_faults(self, catalog: Catalog) -> tuple[BrokenQuery, ...]:
        """Return the queries that do not fit a schema."""
        found = (query.find_fault(catalog) for query in self.values())
        return tuple(item for item in found if item is not None)

    def check(self, catalog: Catalog) -> None:
        """Refuse a set with queries that do not fit a schema, each named with its place."""
        if broken := self.find_faults(catalog):
            raise broken_error("these stored queries do not fit the schema", broken)

    def says_the_same(self, other: QuerySet) -> bool:
        """Return whether two sets have the same texts under the same names, wherever they were declared."""
        return self.texts == other.texts

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name."""
        return {name: query.text for name, query in self.items()}


def broken_error(what: str, broken: Iterable[BrokenQuery]) -> StoredQueryBroken:
    """Return the error that names stored queries which do not fit, with the reasons."""
    found = list(broken)
    told = "\n".join(f"{item.name}: {item.message}" for item in found)
    return StoredQueryBroken(f"{what}:\n{told}", queries=[item.to_json() for item in found])


def unknown_query_error(name: object, known: Iterable[str]) -> NotFound:
    """Return the error for a name that no stored query has."""
    shown = make_printable((name if isinstance(name, str) else repr(name))[:_MAX_SHOWN_CHARACTERS])
    hint = suggest(name, known) if isinstance(name, str) else None
    told = f"there is no stored query '{shown}'"
    return NotFound(f"{told}; {hint}" if hint else told, query=shown)
