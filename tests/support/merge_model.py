"""Three-way merge in plain Python: commits, branches and graphs as values, every rule by brute force."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Table = dict[str, Row]
State = dict[str, Table]
"""Table key to id to row; an edge's row has `src` and `dst`."""

PERSON, KNOWS, CLUB = "node:Person", "edge:Knows", "node:Club"
TABLES = (PERSON, KNOWS, CLUB)
FEATURES = ("mood", "city", "since", "club", "years", "wide", "index", "range")
"""Changes of the schema, each of which a branch makes at most once, in any order."""
MOST = 2
DEFAULTS: dict[str, Row] = {PERSON: {"mood": 3, "city": None}, KNOWS: {"since": None}, CLUB: {}}
"""What rows hold in properties that the schema of their branch does not have yet."""
RULES = {"hits": "sum", "tags": "union", "seal": "manual"}


def schema_with(features: Set[str]) -> str:
    """Return the schema of a branch that has made some of the changes."""

    def add(feature: str, text: str, otherwise: str = "") -> str:
        return text if feature in features else otherwise

    age = add("years", 'years: I32? @rename_from("age")', "age: I32?")
    return f"""
node Person {{ name: String @key  {age}  nick: String?  @unique(nick)
  hits: I64? @merge(sum)  tags: [String]? @merge(union)  seal: String? @merge(manual)
  {add("mood", "mood: I32 @default(3)")}  {add("city", "city: String?")}
  {add("range", f"@range({add('years', 'years', 'age')}, 0..2)")}
}}
{add("club", "node Club { name: String @key  size: I32? }")}
edge Knows: Person -> Person @card(0..2) {{
  note: String?  weight: {add("wide", "I64", "I32")}?  {add("since", "since: I32?")}
  {add("index", "@index(weight)")}
}}
"""


SCHEMA = schema_with(frozenset())


@dataclass(frozen=True)
class ModelCommit:
    """A commit, its parents, its schema, and the whole graph."""

    id: str
    number: int
    order: int
    parents: tuple[ModelCommit, ...]
    state: State
    content: str
    features: frozenset[str] = frozenset()


@dataclass
class Expected:
    """What merging should give."""

    outcome: str
    state: State | None = None
    structural: set[tuple[str, str, str]] = field(default_factory=set)
    """Kind, table key, id."""
    orphans: set[str] = field(default_factory=set)
    twins: list[set[str]] = field(default_factory=list)
    """Persons that would share a nick."""
    crowded: set[str] = field(default_factory=set)
    """Persons that would know too many."""

    @property
    def is_refused(self) -> bool:
        """Say whether there are conflicts."""
        return bool(self.structural or self.orphans or self.twins or self.crowded)


def expect_merge(ours: ModelCommit, theirs: ModelCommit, strategy: str) -> Expected:
    """Return what merging `theirs` into `ours` should give."""
    base = best_base(ours, theirs)
    if theirs.content in (base.content, ours.content):
        return Expected("already_up_to_date")
    if ours.content == base.content:
        return Expected("fast_forward", theirs.state)
    return merged(base.state, ours.state, theirs.state, strategy)


def merged(base: State, ours: State, theirs: State, strategy: str, take: str | None = None) -> Expected:
    """Merge three graphs, entity by entity, then check the result; `take` answers where sides disagree."""
    expected, state = Expected("merged"), {}
    for key in TABLES:
        table: Table = {}
        for id_ in {*base[key], *ours[key], *theirs[key]}:
            three = base[key].get(id_), ours[key].get(id_), theirs[key].get(id_)
            kind, row = entity(*three, strategy)
            if kind is not None and take is not None:
                kind, row = None, answered(*three, strategy, three[("base", "ours", "theirs").index(take)])
            if kind is not None:
                expected.structural.add((kind, key, id_))
            elif row is not None:
                table[id_] = row
        state[key] = table
    if expected.structural:
        return expected
    people, edges = state[PERSON], state[KNOWS]
    expected.orphans = {
        id_ for id_, row in edges.items() if row["src"] not in people or row["dst"] not in people
    }
    by_nick: dict[str, set[str]] = {}
    for id_, row in people.items():
        if row["nick"] is not None:
            by_nick.setdefault(row["nick"], set()).add(id_)
    expected.twins = [ids for ids in by_nick.values() if len(ids) > 1]
    counts = Counter(row["src"] for row in edges.values())
    expected.crowded = {src for src, count in counts.items() if count > MOST and src in people}
    if not expected.is_refused:
        expected.state = state
    return expected


def entity(b: Row | None, o: Row | None, t: Row | None, strategy: str) -> tuple[str | None, Row | None]:
    """Return a conflict's kind, or the row that the entity becomes."""
    if o == t or t == b:
        return None, o
    if o == b:
        return None, t
    if o is None or t is None:
        if strategy in ("ours", "theirs"):
            return None, o if strategy == "ours" else t
        return "DeleteVsUpdate", None
    kind = "DivergentInsert" if b is None else "DivergentUpdate"
    row: dict[str, Any] = {}
    for name in o:
        before, clash = (b[name] if b else None), _clash(b, o, t, name)
        if name in RULES and RULES[name] == "manual" and clash:
            return kind, None
        if name in ("hits", "tags"):
            row[name] = _ruled(name, before, o[name], t[name]) if clash else _simple(b, o, t, name)
    rest = [name for name in o if name not in ("hits", "tags")]
    picked = _rest(b, o, t, rest, strategy)
    return (kind, None) if picked is None else (None, {**row, **picked})


def answered(b: Row | None, o: Row | None, t: Row | None, strategy: str, side: Row | None) -> Row | None:
    """Return what an entity that is in conflict becomes when somebody takes one of its images."""
    if side is None or o is None or t is None:
        return side
    sealed = [name for name in o if RULES.get(name) == "manual" and _clash(b, o, t, name)]
    rest = [name for name in o if name not in ("hits", "tags", *sealed)]
    picked = _rest(b, o, t, rest, strategy)
    row: dict[str, Any] = {}
    for name in o:
        clash = _clash(b, o, t, name)
        if name in ("hits", "tags"):
            before = b[name] if b else None
            row[name] = _ruled(name, before, o[name], t[name]) if clash else _simple(b, o, t, name)
        elif name in rest and picked is not None:
            row[name] = picked[name]
        else:
            combines = strategy == "property" and not clash
            row[name] = _simple(b, o, t, name) if combines else side[name]
    return row


def _rest(b: Row | None, o: Row, t: Row, rest: list[str], strategy: str) -> dict[str, Any] | None:
    if strategy == "ours":
        return {name: o[name] for name in rest}
    if strategy == "theirs":
        # Nothing is taken from them where they changed nothing.
        unchanged = b is not None and all(t[name] == b[name] for name in rest)
        return {name: (o if unchanged else t)[name] for name in rest}
    if strategy == "property":
        if any(_clash(b, o, t, name) for name in rest):
            return None
        return {name: _simple(b, o, t, name) for name in rest}
    if all(o[name] == t[name] for name in rest) or (b and all(t[name] == b[name] for name in rest)):
        return {name: o[name] for name in rest}
    if b and all(o[name] == b[name] for name in rest):
        return {name: t[name] for name in rest}
    return None


def _clash(b: Row | None, o: Row, t: Row, name: str) -> bool:
    return o[name] != t[name] and (b is None or b[name] not in (o[name], t[name]))


def _simple(b: Row | None, o: Row, t: Row, name: str) -> Any:
    return t[name] if b is not None and o[name] == b[name] else o[name]


def _ruled(name: str, b: Any, o: Any, t: Any) -> Any:
    if name == "hits":
        return (o or 0) + (t or 0) - (b or 0)
    if o is None or t is None:
        return t if o is None else o
    return (*o, *(item for item in t if item not in o))


def best_base(ours: ModelCommit, theirs: ModelCommit) -> ModelCommit:
    """Return the nearest of the common ancestors that no other one descends from."""
    near, far = _distances(ours), _distances(theirs)
    common = [commit for id_, (commit, _) in near.items() if id_ in far]
    best = [
        commit
        for commit in common
        if not any(commit.id in _distances(other) for other in common if other.id != commit.id)
    ]
    return min(best, key=lambda item: (near[item.id][1] + far[item.id][1], -item.number, -item.order))


def _distances(head: ModelCommit) -> dict[str, tuple[ModelCommit, int]]:
    found, line = {head.id: (head, 0)}, deque([head])
    while line:
        commit = line.popleft()
        for parent in commit.parents:
            if parent.id not in found:
                found[parent.id] = (parent, found[commit.id][1] + 1)
                line.append(parent)
    return found
