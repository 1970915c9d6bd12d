"""What one snapshot says, as plain Python data, and whether it can be true by itself.

Nothing here knows how the engine works: rows come from plain scans, the rules are counted by hand.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jepsen.schemas import ACCOUNTS, MOST_FRIENDS, OPENING, name_of

if TYPE_CHECKING:
    from omnigraph.sdk.snapshot import Snapshot

Row = Mapping[str, Any]
ONCE = ("Transfer", "Token", "Claim", "Ticket", "Person", "Knows", "Note")
"""Types of which an operation writes one row, which carries its token; an `Item` says how many there are."""


@dataclass(frozen=True)
class Content:
    """The rows of every type, and what the commit's own entry says of their number."""

    commit: str
    version: int
    branch: str
    schema: str
    rows: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]


def read_content(snapshot: Snapshot) -> Content:
    """Scan all tables of a snapshot."""
    rows: dict[str, list[Row]] = {}
    counts: dict[str, int] = {}
    for info in snapshot.tables:
        name = info.key.partition(":")[2]
        rows[name] = snapshot.table(info.key).scan().to_pylist()
        counts[name] = info.rows
    return Content(
        snapshot.commit_id,
        snapshot.version,
        snapshot.branch,
        name_of(snapshot.schema_source),
        rows,
        counts,
    )


def tokens_of(content: Content) -> Counter[str]:
    """Return how many rows carry each token."""
    return Counter(str(row["token"]) for rows in content.rows.values() for row in rows if "token" in row)


def masks_of(content: Content) -> dict[str, int]:
    """Return, by client, a number with the bit set of each operation whose rows are there."""
    masks: dict[str, int] = {}
    for token in tokens_of(content):
        client, _, number = token.rpartition("-")
        masks[client] = masks.get(client, 0) | 1 << int(number)
    return masks


def digest_of(content: Content) -> str:
    """Return a short text that only the same content has."""
    lines = sorted(
        json.dumps([name, row], sort_keys=True, default=str)
        for name, rows in content.rows.items()
        for row in rows
    )
    return hashlib.blake2b("\n".join([content.schema, *lines]).encode(), digest_size=12).hexdigest()


def summary_of(content: Content) -> dict[str, Any]:
    """Return what the log keeps of a snapshot that was read."""
    return {
        "commit": content.commit,
        "version": content.version,
        "branch": content.branch,
        "schema": content.schema,
        "digest": digest_of(content),
        "seen": {client: hex(mask) for client, mask in masks_of(content).items()},
        "problems": list(problems_of(content)),
    }


def seen_in(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the masks that a summary holds."""
    return {client: int(mask, 16) for client, mask in summary["seen"].items()}


def problems_of(content: Content) -> Iterator[str]:
    """Tell what cannot be true of any snapshot, whatever has happened before."""
    yield from _counts(content)
    yield from _bank(content.rows)
    yield from _once(content.rows)
    yield from _unique(content.rows)
    yield from _edges(content.rows)


def _counts(content: Content) -> Iterator[str]:
    for name, rows in content.rows.items():
        if len(rows) != content.counts[name]:
            yield f"torn: {name} has {len(rows)} rows, the commit says {content.counts[name]}"
        for id_, count in Counter(row["id"] for row in rows).items():
            if count > 1:
                yield f"doubled: id {id_} stands {count} times in {name}"


def _bank(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    found = {row["name"]: row["balance"] for row in rows["Account"]}
    expected = dict.fromkeys(ACCOUNTS, OPENING)
    for row in rows["Transfer"]:
        expected[row["source"]] -= row["amount"]
        expected[row["target"]] += row["amount"]
    if sum(found.values()) != OPENING * len(ACCOUNTS):
        yield f"bank: the total is {sum(found.values())}, not {OPENING * len(ACCOUNTS)}: {found}"
    if found != expected:
        yield f"bank: the balances are {found}, the transfers that stand beside them make {expected}"


def _once(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for name in ONCE:
        for token, count in Counter(row["token"] for row in rows[name]).items():
            if count > 1:
                yield f"doubled: {name} {token} stands {count} times"
    parts: dict[tuple[str, int], Counter[int]] = {}
    for row in rows["Item"]:
        parts.setdefault((row["token"], row["of"]), Counter())[row["n"]] += 1
    for (token, of), found in parts.items():
        if len(found) != of:
            yield f"torn: load {token} has {len(found)} of {of} rows"
        if found.total() != len(found):
            yield f"doubled: load {token} has {found.total()} rows, {of} were loaded"


def _unique(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for name, column in (("Claim", "slot"), ("Ticket", "name")):
        for value, count in Counter(row[column] for row in rows[name]).items():
            if count > 1:
                yield f"unique: {name}.{column} {value} stands {count} times"


def _edges(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    people = {row["id"] for row in rows["Person"]}
    for row in rows["Knows"]:
        for end in ("src", "dst"):
            if row[end] not in people:
                yield f"orphan: edge {row['token']} has the {end} {row[end]}, which is not there"
    for person, count in Counter(row["src"] for row in rows["Knows"]).items():
        if count > MOST_FRIENDS:
            yield f"cardinality: {person} has {count} edges, at most {MOST_FRIENDS} are allowed"
