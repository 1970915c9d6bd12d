"""What clients did: the log that each writes, and the history that is read from all of them.

A line is written before an operation and after it, with one system call and no fsync: it survives the death
of the process. An operation whose client was killed has no second line, so nobody knows its outcome.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from omnigraph.base import clock

OK, FAIL, UNKNOWN, BROKEN = "ok", "fail", "unknown", "broken"
"""It happened; it did not, says the engine; nobody knows; the client met what no client may ever meet."""

NEMESIS = "nemesis"


@dataclass(frozen=True)
class Op:
    """One operation of one client, with its outcome."""

    client: str
    number: int
    kind: str
    facts: Mapping[str, Any]
    began: float
    ended: float = inf
    """When the answer was known; never, for an operation without an answer."""
    outcome: str = UNKNOWN
    answer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it leaves in the graph: a token, the message of its commit."""
        return f"{self.client}-{self.number}"

    @property
    def may_have_happened(self) -> bool:
        """Say whether its effect may be seen."""
        return self.outcome != FAIL

    @property
    def code(self) -> str:
        """The code of the error that it ended with."""
        return str(self.answer.get("code", ""))

    def __str__(self) -> str:
        end = f"{self.ended:.3f}" if self.ended != inf else "…"
        facts = " ".join(f"{name}={value}" for name, value in self.facts.items() if name != "text")
        told = " ".join(f"{name}={value}" for name, value in self.answer.items() if name in _TOLD)
        return f"{self.name} {self.kind} {facts} [{self.began:.3f}, {end}] {self.outcome} {told}".rstrip()


_TOLD = ("code", "message", "commit", "version", "branch", "outcome", "affected")


def with_retries(ops: Sequence[Op]) -> list[Op]:
    """Return operations with what became of them over all tries under one idempotency key.

    One try that went well is enough. Only when all failed did nothing happen.
    """
    tries: dict[str, list[Op]] = {}
    for op in ops:
        if op.kind == "again":
            tries.setdefault(op.facts["of"], []).append(op)
    return [_joined(op, tries[op.name]) if op.name in tries else op for op in ops]


def _joined(first: Op, tries: Sequence[Op]) -> Op:
    good = min((op for op in (first, *tries) if op.outcome == OK), key=lambda op: op.ended, default=None)
    if good is not None:
        return replace(first, ended=good.ended, outcome=OK, answer=good.answer)
    doubtful = next((op for op in (first, *tries) if op.outcome != FAIL), None)
    return replace(first, ended=inf, outcome=UNKNOWN, answer=doubtful.answer) if doubtful else first


@dataclass(frozen=True)
class History:
    """All operations in the order in which they began, and what the nemesis did."""

    ops: tuple[Op, ...]
    faults: tuple[Mapping[str, Any], ...] = ()

    def of(self, *kinds: str) -> list[Op]:
        """Return the operations of some kinds."""
        return [op for kind in kinds for op in self._by_kind.get(kind, [])]

    @cached_property
    def _by_kind(self) -> dict[str, list[Op]]:
        found: dict[str, list[Op]] = {}
        for op in self.ops:
            found.setdefault(op.kind, []).append(op)
        return found

    @cached_property
    def by_name(self) -> dict[str, Op]:
        """Every operation by its name."""
        return {op.name: op for op in self.ops}


class Log:
    """A log file of one process."""

    def __init__(self, folder: Path, name: str) -> None:
        self.client = name
        self._file = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._clock = clock.Clock()
        self._count = 0

    def invoke(self, kind: str, facts: Mapping[str, Any]) -> int:
        """Note that an operation begins and return its number."""
        number, self._count = self._count, self._count + 1
        self.write({"op": number, "is": "invoke", "kind": kind, "facts": facts})
        return number

    @property
    def next_name(self) -> str:
        """The name of the operation that is invoked next."""
        return f"{self.client}-{self._count}"

    def end(self, number: int, outcome: str, answer: Mapping[str, Any]) -> None:
        """Note how an operation ended."""
        self.write({"op": number, "is": outcome, "answer": answer})

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a line."""
        os.write(self._file, (json.dumps({"at": self._clock.monotonic(), **line}) + "\n").encode())


def read_history(folder: Path) -> History:
    """Return the history that the logs of a folder tell."""
    ops: list[Op] = []
    faults: list[Mapping[str, Any]] = []
    for path in sorted(folder.glob("*.log")):
        if path.stem == NEMESIS:
            faults += _lines(path)
        else:
            ops += read_ops(folder, path.stem)
    return History(tuple(sorted(ops, key=lambda op: op.began)), tuple(faults))


def read_ops(folder: Path, client: str) -> list[Op]:
    """Return the operations of one client, in their order; none, when it was killed before its first."""
    path = folder / f"{client}.log"
    return paired(client, _lines(path)) if path.exists() else []


def paired(client: str, lines: Iterable[Mapping[str, Any]]) -> list[Op]:
    """Return the operations of one client from the lines of its log."""
    begun: dict[int, Op] = {}
    for line in lines:
        number = line["op"]
        if line["is"] == "invoke":
            begun[number] = Op(client, number, line["kind"], line["facts"], line["at"])
        else:
            op = begun[number]
            begun[number] = Op(
                client, number, op.kind, op.facts, op.began, line["at"], line["is"], line["answer"]
            )
    return list(begun.values())


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a file; the last one of a killed process may be cut off."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
