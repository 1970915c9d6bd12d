"""Stored queries of a merge's result: three ways by name, and whether they fit the schema of the result."""

from __future__ import annotations

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.compiler.stored.read import read_queries
from omnigraph.graph.manifest.schemas import Schemas, same_schema
from omnigraph.graph.merge.answers.resolutions import QUERY, Resolution, Resolutions, Take
from omnigraph.graph.merge.conflicts import ConflictKind, Image, MergeConflict
from omnigraph.graph.merge.sides import Sides


def decide_queries(
    sides: Sides, schemas: Schemas, answers: Resolutions, most_bytes: int
) -> tuple[QuerySet | None, list[MergeConflict]]:
    """Return the queries that the target gets, None when it keeps its own, and what nobody has answered."""
    addresses = [getattr(sides, side).queries for side in SIDES]
    if not any(addresses):
        return None, []
    decision = _Decision(sides, schemas, answers, most_bytes)
    decision.combine()
    decision.check()
    after = QuerySet.of(decision.result.values())
    changed = not after.says_the_same(decision.sets["ours"])
    return after if changed else None, decision.conflicts


class _Decision:
    """One decision in the making."""

    def __init__(self, sides: Sides, schemas: Schemas, answers: Resolutions, most_bytes: int) -> None:
        self._answers, self._most_bytes = answers, most_bytes
        commits = {str(side): getattr(sides, side) for side in SIDES}
        self.sets = {side: schemas.queries(commit.queries) for side, commit in commits.items()}
        self._catalogs = {side: schemas.get(commit.schema).catalog for side, commit in commits.items()}
        self._catalog = sides.catalog(schemas)
        self._keeps_schema = sides.combined_schema is None and same_schema(
            sides.onto.schema, sides.ours.schema
        )
        self.result: dict[str, StoredQuery] = {}
        self.conflicts: list[MergeConflict] = []

    def combine(self) -> None:
        """Take each query from the side that changed it; where both did, what an answer says."""
        for name in sorted(set().union(*self.sets.values())):
            base, ours, theirs = (self._text(side, name) for side in SIDES)
            side = "theirs" if ours == base else "ours"
            if ours in (base, theirs) or theirs == base:
                self._take(name, self.sets[side].get(name))
            else:
                self._settle(name, ConflictKind.QUERY_DIVERGED, "both sides have changed it")

    def check(self) -> None:
        """Find queries that the schema of the result breaks, and settle those that are answered."""
        in_conflict = {conflict.type_name for conflict in self.conflicts}
        for name, query in list(self.result.items()):
            kept = self._keeps_schema and query.text == self._text("ours", name)
            if kept or name in in_conflict:
                continue
            fault = query.find_fault(self._catalog)
            if fault is None or self._was_broken(query):
                continue
            self._settle(
                name, ConflictKind.QUERY_BROKEN, f"it does not fit the merged schema: {fault.message}"
            )

    def _settle(self, name: str, kind: ConflictKind, why: str) -> None:
        conflict = MergeConflict(
            kind.value,
            QUERY,
            name,
            name,
            f"stored query {name!r}: {why}",
            self._image("base", name),
            self._image("ours", name),
            self._image("theirs", name),
            ("text",),
        )
        answer = self._answers.answer(conflict)
        if answer is not None:
            chosen = self._choose(name, answer)
            if chosen is None or chosen.find_fault(self._catalog) is None:
                self._take(name, chosen)
                return
        self.conflicts.append(self._answers.describe_left(conflict))

    def _choose(self, name: str, answer: Resolution) -> StoredQuery | None:
        if answer.take is not Take.CUSTOM:
            return self.sets[answer.take.value].get(name)
        if answer.image is None:
            return None
        text = answer.image.get("properties", {}).get("text")
        found = read_queries({"": text}, self._most_bytes) if isinstance(text, str) else QuerySet()
        if list(found) != [name]:
            raise BadInput(
                f"a resolution for stored query {name!r} needs properties.text: that one query",
                query=name,
            )
        return found[name]

    def _take(self, name: str, query: StoredQuery | None) -> None:
        if query is None:
            self.result.pop(name, None)
        else:
            self.result[name] = query

    def _was_broken(self, query: StoredQuery) -> bool:
        """Return whether a side that has this very query has it broken: somebody has allowed that."""
        return any(
            self._text(side, query.name) == query.text and query.find_fault(self._catalogs[side]) is not None
            for side in ("ours", "theirs")
        )

    def _text(self, side: str, name: str) -> str | None:
        query = self.sets[side].get(name)
        return None if query is None else query.text

    def _image(self, side: str, name: str) -> Image | None:
        text = self._text(side, name)
        return None if text is None else {"properties": {"text": text}}
