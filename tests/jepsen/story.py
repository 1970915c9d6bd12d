"""Hand-made histories: a small run in which all went well, for tests that spoil it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from jepsen.content import Content
from jepsen.history import OK, UNKNOWN, History, Op
from jepsen.model import MARKING, masks_of_names
from jepsen.schemas import ACCOUNTS, FIRST, OPENING

Rows = Sequence[Mapping[str, Any]]


def rows_of(**more: Rows) -> dict[str, Rows]:
    """Return the rows of a graph in which nothing has happened yet, and some more."""
    accounts = [{"id": name, "name": name, "balance": OPENING} for name in ACCOUNTS]
    empty: dict[str, Rows] = {
        name: [] for name in ("Transfer", "Token", "Item", "Claim", "Ticket", "Person", "Knows", "Note")
    }
    return {**empty, "Account": accounts, **more}


def content_of(counts: Mapping[str, int] | None = None, **more: Rows) -> Content:
    """Return a snapshot with some rows; what its commit says of their number is right unless given."""
    rows = rows_of(**more)
    said = {name: len(found) for name, found in rows.items()} | dict(counts or {})
    return Content("C1", 1, "main", FIRST, rows, said)


def summary(
    names: list[str], commit: str = "C9", version: int = 9, branch: str = "main", digest: str = ""
) -> dict[str, Any]:
    """Return what is kept of a snapshot in which the rows of these operations stand."""
    return {
        "commit": commit,
        "version": version,
        "branch": branch,
        "schema": FIRST,
        "digest": digest or commit,
        "seen": {client: hex(mask) for client, mask in masks_of_names(names).items()},
        "problems": [],
    }


@dataclass
class Story:
    """Operations one after the other, each a second long, and what is there in the end."""

    ops: list[Op] = field(default_factory=list)
    faults: list[Mapping[str, Any]] = field(default_factory=list)
    main: list[str] = field(default_factory=list)
    """Operations whose rows are on main."""
    branches: dict[str, list[str]] = field(default_factory=dict)
    """The same by branch."""
    tags: dict[str, str] = field(default_factory=dict)
    """Commits by tag."""
    changes: dict[str, Any] = field(default_factory=dict)
    """What is observed otherwise than it should be."""
    _now: float = 0.0

    def do(
        self,
        kind: str,
        outcome: str = OK,
        answer: Mapping[str, Any] | None = None,
        at: float = 0.0,
        **facts: Any,
    ) -> Op:
        """Let a client do something now, or at a moment, and return it."""
        began = at or self._now + 1
        self._now = max(self._now, began + 0.5)
        ended = inf if outcome == UNKNOWN else began + 0.5
        client = f"c{len(self.ops) % 2}g0"
        if kind in _ON_MAIN:
            facts.setdefault("branch", "main")
        op = Op(client, len(self.ops), kind, facts, began, ended, outcome, answer or {})
        self.ops.append(op)
        return op

    def write(self, kind: str = "append", outcome: str = OK, **facts: Any) -> Op:
        """Let a client write rows, which are on main in the end when it was acknowledged."""
        answer = {"commit": f"W{len(self.ops)}"} if outcome == OK else {}
        op = self.do(kind, outcome, answer, **facts)
        branch = op.facts["branch"]
        if outcome == OK:
            (self.main if branch == "main" else self.branches.setdefault(branch, [])).append(op.name)
        return op

    def read(self, names: list[str], version: int, **facts: Any) -> Op:
        """Let a client read main."""
        return self.do("read", OK, summary(names, f"R{version}", version), **facts)

    @property
    def history(self) -> History:
        """What the logs would tell."""
        return History(tuple(sorted(self.ops, key=lambda op: op.began)), tuple(self.faults))

    @property
    def observed(self) -> dict[str, Any]:
        """What is read in the end."""
        line = self._line()
        moment = {
            "branches": {
                "main": summary(self.main, line[0]["commit"], len(line)),
                **{name: summary(found, f"B-{name}", 4, name) for name, found in self.branches.items()},
            },
            "tags": {name: summary([], commit) for name, commit in self.tags.items()},
        }
        return {
            "errors": [],
            "left": moment,
            "settled": moment,
            "cleaned": moment,
            "history": {"main": line},
            "damage": [],
            "damage_after_cleanup": [],
            "files_left": 0,
            "last_writes": 1,
            **self.changes,
        }

    def _line(self) -> list[dict[str, Any]]:
        """Return the commits of main, newest first: the first one, then each that was acknowledged."""
        writes = [
            op for op in self.ops if op.facts.get("branch") == "main" and "W" in op.answer.get("commit", "")
        ]
        messages: list[tuple[str, str | None]] = [
            ("C1", None),
            *((op.answer["commit"], op.name) for op in writes),
        ]
        line: list[dict[str, Any]] = [
            {
                "commit": commit,
                "parent": messages[place - 1][0] if place else None,
                "merged_parent": None,
                "branch": "main",
                "version": place + 1,
                "message": message,
                "operation": "mutation",
                "at": float(place),
                "notes": [],
            }
            for place, (commit, message) in enumerate(messages)
        ]
        return line[::-1]


_ON_MAIN = (*MARKING, "scratch", "delete_person", "read")
