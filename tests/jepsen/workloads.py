"""The operations that clients choose from; each is written to the log with all that the checker must know."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from jepsen.client import Client, Facts
from jepsen.content import read_content, summary_of
from jepsen.schemas import ACCOUNTS, TEXTS, name_of

Operation = Callable[[Client], object]
_MOST_BRANCHES, _MOST_TAGS, _REMEMBERED = 6, 12, 20
_TRANSFER = """
query q($a: String, $b: String, $x: I64, $y: I64, $n: I64, $t: String) {
  update Account set { balance: $x } where name = $a
  update Account set { balance: $y } where name = $b
  insert Transfer { token: $t source: $a target: $b amount: $n }
}
"""
_COMPUTED_TRANSFER = """
query q($a: String, $b: String, $n: I64, $t: String) {
  update Account set { balance: balance - $n } where name = $a
  update Account set { balance: balance + $n } where name = $b
  insert Transfer { token: $t source: $a target: $b amount: $n }
}
"""
_BALANCES = "query q() { match { $a: Account } return { $a.name, $a.balance } }"


def choose(dice: random.Random, focus: str = "all") -> Operation:
    """Return the next operation; a focus makes some of them frequent."""
    weights = {**_WEIGHTS, **FOCUSES[focus]}
    return dice.choices(list(weights), list(weights.values()))[0]


def mutate(
    client: Client, kind: str, gq: str, params: dict[str, Any], facts: Facts, branch: str = "main"
) -> Facts | None:
    """Run a mutation whose rows carry the operation's name as `$t`."""
    token = client.log.next_name

    def act() -> Facts:
        done = client.graph.mutate(gq, {**params, "t": token}, branch=_named(branch), message=token)
        return {"commit": done.commit_id, "affected": done.affected_nodes + done.affected_edges}

    return client.attempt(kind, {"branch": branch, **facts}, act)


def append(client: Client, branch: str = "main") -> None:
    """Add a token; on main every second one has an idempotency key."""
    is_keyed = branch == "main" and client.dice.random() < 0.5
    _append(client, "append", client.log.next_name, branch, is_keyed)


def _append(client: Client, kind: str, token: str, branch: str, is_keyed: bool) -> None:
    def act() -> Facts:
        gq, key = "query q($t: String) { insert Token { token: $t } }", token if is_keyed else None
        done = client.graph.mutate(
            gq, {"t": token}, branch=_named(branch), message=token, idempotency_key=key
        )
        return {"commit": done.commit_id}

    client.attempt(kind, {"branch": branch, "keyed": is_keyed, "of": token, "rows": 1}, act)
    if is_keyed:
        client.remember_key("append", token, 1)


def note(client: Client) -> None:
    """Add a row to the type whose properties change."""
    names = {"extra": ["extra"], "renamed": ["more"]}.get(client.schema, [])
    given = "".join(f" {name}: $t" for name in names)
    mutate(client, "note", f"query q($t: String) {{ insert Note {{ token: $t{given} }} }}", {}, {})


def scratch(client: Client) -> None:
    """Add a row to the type that comes and goes."""
    mutate(client, "scratch", "query q($t: String) { insert Scratch { token: $t } }", {}, {})


def transfer(client: Client) -> None:
    """Move money between two accounts, computed or if nothing has changed since they were read."""
    for _ in range(5):
        if _transfer(client) is not None:
            return


def _transfer(client: Client) -> Facts | None:
    source, target = client.dice.sample(ACCOUNTS, 2)
    amount, token = client.dice.randrange(1, 20), client.log.next_name
    computes, retry = client.dice.random() < 0.5, client.dice.choice([0, 3])

    def act() -> Facts:
        if computes:
            given = {"a": source, "b": target, "n": amount, "t": token}
            done = client.graph.mutate(_COMPUTED_TRANSFER, given, message=token, retry=retry)
            return {"commit": done.commit_id}
        head = client.graph.snapshot()
        held = {row["a.name"]: row["a.balance"] for row in head.query(_BALANCES)}
        params = {"a": source, "b": target, "x": held[source] - amount, "y": held[target] + amount}
        done = client.graph.mutate(
            _TRANSFER, {**params, "n": amount, "t": token}, if_commit=head.commit_id, message=token
        )
        return {"commit": done.commit_id}

    facts = {"branch": "main", "source": source, "target": target, "amount": amount}
    return client.attempt("transfer", facts, act)


def load(client: Client, branch: str = "main", origin: str | None = None) -> None:
    """Load some hundred rows, which makes a durable plan; with an origin the branch may appear with them."""
    is_keyed = branch == "main" and client.dice.random() < 0.5
    _load(client, "load", client.log.next_name, client.dice.randrange(50, 300), branch, origin, is_keyed)


def _load(
    client: Client, kind: str, token: str, rows: int, branch: str, origin: str | None, is_keyed: bool
) -> None:
    records = [{"type": "Item", "data": {"token": token, "n": n, "of": rows}} for n in range(rows)]

    def act() -> Facts:
        done = client.graph.load(
            records,
            mode="append",
            branch=_named(branch),
            from_branch=origin,
            message=token,
            idempotency_key=token if is_keyed else None,
        )
        return {"commit": done.commit_id}

    facts = {"branch": branch, "rows": rows, "origin": origin, "keyed": is_keyed, "of": token}
    client.attempt(kind, facts, act)
    if is_keyed:
        client.remember_key("load", token, rows)


def again(client: Client) -> None:
    """Send a write with its idempotency key once more: of this client, or of the one that it replaces."""
    if client.keys:
        kind, token, rows = client.dice.choice(client.keys)
        if kind == "append":
            _append(client, "again", token, "main", is_keyed=True)
        else:
            _load(client, "again", token, rows, "main", None, is_keyed=True)


def claim(client: Client) -> None:
    """Insert a unique value that others may be inserting too."""
    slot = _contended(client, "Claim", "slot")
    gq = "query q($s: String, $t: String) { insert Claim { token: $t slot: $s } }"
    mutate(client, "claim", gq, {"s": slot}, {"slot": slot})


def ticket(client: Client) -> None:
    """Load a row with a key that others may be loading too."""
    name, token = _contended(client, "Ticket", "name"), client.log.next_name
    records = [{"type": "Ticket", "data": {"name": name, "token": token}}]

    def act() -> Facts:
        return {"commit": client.graph.load(records, mode="append", message=token).commit_id}

    client.attempt("ticket", {"branch": "main", "key": name}, act)


def person(client: Client) -> None:
    """Add a person."""
    mutate(client, "person", "query q($t: String) { insert Person { token: $t } }", {}, {})


def edge(client: Client) -> None:
    """Add an edge between two people who may be gone by then."""
    people = _people(client)
    if people:
        ends = {"a": client.dice.choice(people), "b": client.dice.choice(people)}
        gq = "query q($a: String, $b: String, $t: String) { insert Knows { from: $a to: $b token: $t } }"
        mutate(client, "edge", gq, ends, {"source": ends["a"], "target": ends["b"]})


def delete_person(client: Client) -> None:
    """Delete a person, and the edges with it."""
    people = _people(client)
    if len(people) > 2:
        name = client.dice.choice(people)

        def act() -> Facts:
            gq = "query q($p: String) { delete Person where token = $p }"
            done = client.graph.mutate(gq, {"p": name}, message=token)
            return {"commit": done.commit_id, "affected": done.affected_nodes}

        token = client.log.next_name
        client.attempt("delete_person", {"branch": "main", "person": name}, act)


def branch(client: Client) -> None:
    """Do something with a branch: make, write to, merge, delete, or all of that in a row."""
    names = [name for name in _branches(client) if name != "main"]
    pick = client.dice.random()
    if not names or (pick < 0.2 and len(names) < _MOST_BRANCHES):
        return create_branch(client, names)
    name = client.dice.choice(names)
    if pick < 0.45:
        return append(client, name)
    if pick < 0.55:
        return load(client, name)
    if pick < 0.8:
        append(client, name)
        return merge(client, name)
    if pick < 0.9:
        merge(client, name)
        return delete_branch(client, name)
    delete_branch(client, name)
    if client.dice.random() < 0.5:
        create_branch(client, [], name)


def create_branch(client: Client, names: list[str], name: str | None = None) -> None:
    """Make a branch of main or of another one, under a name that others use too; perhaps by a load."""
    name = name or f"b{client.dice.randrange(4)}"
    origin = client.dice.choice(names) if names and client.dice.random() < 0.3 else "main"
    if origin == name:
        origin = "main"
    if client.dice.random() < 0.3:
        return load(client, name, origin)

    def act() -> Facts:
        client.graph.branches.create(name, from_branch=origin)
        return {}

    client.attempt("create_branch", {"name": name, "origin": origin}, act)


def delete_branch(client: Client, name: str) -> None:
    """Delete a branch."""

    def act() -> Facts:
        client.graph.branches.delete(name)
        return {}

    client.attempt("delete_branch", {"name": name}, act)


def merge(client: Client, name: str) -> None:
    """Merge a branch into main, and perhaps delete it with the same call."""
    with_delete, token = client.dice.random() < 0.5, client.log.next_name

    def act() -> Facts:
        done = client.graph.branches.merge(name, delete_branch=with_delete, message=token)
        return {
            "commit": done.commit_id,
            "outcome": done.outcome,
            "deleted": done.branch_deleted,
            "delete_error": done.branch_delete_error,
        }

    client.attempt("merge", {"name": name, "delete": with_delete}, act)


def read(client: Client) -> None:
    """Read a whole snapshot, mostly of main."""
    name = "main"
    if client.dice.random() < 0.3:
        name = client.dice.choice(_branches(client) or [name])

    def act() -> Facts:
        return _summary(client, branch=name)

    answer = client.attempt("read", {"branch": name}, act)
    if answer is not None:
        client.remembered = [*client.remembered[-_REMEMBERED:], answer["commit"]]


def travel(client: Client) -> None:
    """Read a commit again that was read before, or one that has a tag."""
    tags = _tags(client) if client.dice.random() < 0.6 else []
    if tags:
        tag = client.dice.choice(tags)
        client.attempt("travel", {"tag": tag}, lambda: _summary(client, tag=tag))
    elif client.remembered:
        commit = client.dice.choice(client.remembered)
        client.attempt("travel", {"commit": commit}, lambda: _summary(client, commit=commit))


def tag(client: Client) -> None:
    """Name a commit that was read before, or the head; or take back a name."""
    if len(client.tags) >= _MOST_TAGS or (client.tags and client.dice.random() < 0.3):
        gone = client.tags.pop(client.dice.randrange(len(client.tags)))

        def untag() -> Facts:
            client.graph.tags.delete(gone)
            return {}

        client.attempt("untag", {"tag": gone}, untag)
        return
    name = f"tag-{client.log.next_name}"
    commit = (
        client.dice.choice(client.remembered) if client.remembered and client.dice.random() < 0.5 else None
    )

    def act() -> Facts:
        return {"commit": client.graph.tags.create(name, commit=commit).commit}

    if client.attempt("tag", {"tag": name, "commit": commit}, act) is not None:
        client.tags.append(name)


def change_schema(client: Client) -> None:
    """Apply one of the schemas, which may drop what another one added, for good or not."""
    name, with_loss = client.dice.choice(list(TEXTS)), client.dice.random() < 0.5
    token = client.log.next_name

    def act() -> Facts:
        done = client.graph.schema.apply(
            TEXTS[name], allow_drop=True, allow_data_loss=with_loss, message=token
        )
        return {"commit": done.commit_id, "applied": done.applied}

    if client.attempt("schema", {"schema": name, "with_loss": with_loss}, act) is not None:
        client.schema = name


def cleanup(client: Client) -> None:
    """Clean up: only what nobody names, or all but the newest commits."""
    keep = client.dice.choice([None, None, 1, 3, 10])
    age = client.dice.choice([None, "1s"]) if keep is not None else client.dice.choice([None, "2s"])

    def act() -> Facts:
        done = client.graph.cleanup(keep=keep, older_than=age)
        return {"files": done.files, "records": done.records_removed, "errors": done.errors}

    client.attempt("cleanup", {"keep": keep, "age": age}, act)


def optimize(client: Client) -> None:
    """Join fragments and build indexes, or only the indexes."""
    name, indexes_only = "main", client.dice.random() < 0.3
    if client.dice.random() < 0.3:
        name = client.dice.choice(_branches(client) or [name])

    def act() -> Facts:
        graph = client.graph
        done = graph.ensure_indices(name) if indexes_only else graph.optimize(name)
        return {"commit": done.commit_id}

    client.attempt("optimize", {"branch": name, "indexes_only": indexes_only}, act)


def reopen(client: Client) -> None:
    """Open the graph anew."""
    client.open()


def _summary(client: Client, **where: Any) -> Facts:
    snapshot = client.graph.snapshot(**where)
    client.schema = name_of(snapshot.schema_source)
    return summary_of(read_content(snapshot))


def _named(branch: str) -> str | None:
    return None if branch == "main" else branch


def _look(client: Client, at: str, find: Callable[[], list[str]]) -> list[str]:
    """Return a list that is needed to choose what to do; only its length is logged."""
    found: list[str] = []

    def act() -> Facts:
        found.extend(find())
        return {"found": len(found)}

    client.attempt("look", {"at": at}, act)
    return found


def _branches(client: Client) -> list[str]:
    return _look(client, "branches", client.graph.branches.list)


def _tags(client: Client) -> list[str]:
    return _look(client, "tags", lambda: [tag.name for tag in client.graph.tags.list()])


def _values(client: Client, type_: str, column: str) -> list[str]:
    """Return the values of a property at main's head, in order."""
    gq = f"query q() {{ match {{ $x: {type_} }} return {{ $x.{column} as value }} order {{ value }} }}"
    return _look(client, f"{type_}.{column}", lambda: [row["value"] for row in client.graph.query(gq)])


def _people(client: Client) -> list[str]:
    """Return a few people, so that clients often choose the same."""
    found = _values(client, "Person", "token")
    return client.dice.sample(found, min(len(found), 3)) + found[:3]


def _contended(client: Client, type_: str, column: str) -> str:
    """Return a value that is free, or was a moment ago, and that others will choose as well."""
    taken = max((int(value) for value in _values(client, type_, column)), default=0)
    return f"{taken + client.dice.randrange(3):06}"


_WEIGHTS: dict[Operation, float] = {
    append: 5,
    note: 2,
    scratch: 1,
    transfer: 4,
    load: 2,
    again: 3,
    claim: 2,
    ticket: 2,
    person: 3,
    edge: 4,
    delete_person: 1.5,
    branch: 9,
    read: 3,
    travel: 2,
    tag: 1.5,
    change_schema: 1.5,
    cleanup: 2,
    optimize: 0.7,
    reopen: 0.7,
}

FOCUSES: dict[str, dict[Operation, float]] = {
    "plans": {load: 25, again: 10, ticket: 12, change_schema: 3, cleanup: 0.5, transfer: 1},
    "all": {},
    "care": {branch: 25, cleanup: 7, change_schema: 5, tag: 4, travel: 4, transfer: 1},
}
"""What the rounds of a run give most of their time to: durable plans, everything, or what removes things."""
