"""What `repair` finds: in plain words what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from omnigraph.base.errors import NotFound, OmniError
from omnigraph.base.plain import to_full_object

LEFTOVER, DAMAGE = "leftover", "damage"
RESTORE = "restore this file from a backup, or from a copy of the graph; nothing can be made up for it"

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not add up."""

    code: str
    """A stable word for the kind of finding; docs/care.md lists them."""
    where: str
    """A path below the graph's root, or a branch and table."""
    what: str
    advice: str
    severity: str = DAMAGE
    """`damage` makes something unreadable or wrong; a `leftover` only takes room or waits for a hand."""
    mended: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON data."""
        return to_full_object(self)


@dataclass
class Findings:
    """Findings in the order in which they were made, and how much was looked at."""

    found: list[Finding] = field(default_factory=list)
    branches: int = 0
    commits: int = 0
    tables: int = 0
    files: int = 0
    rows: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return all(item.severity != DAMAGE for item in self.found)

    def add(self, code: str, where: str, what: str, advice: str, severity: str = DAMAGE) -> None:
        """Take one more."""
        self.found.append(Finding(code, where, what, advice, severity))

    def add_foreign(self, where: str, files: int = 1) -> None:
        """Take files that lie among those of the graph and are not its own."""
        what = "a file lies" if files == 1 else f"{files} files lie"
        self.add(
            "not_ours",
            where,
            f"{what} among those of the graph and not of it: nothing reads or removes what is there",
            "it may be removed by hand, or moved elsewhere",
            LEFTOVER,
        )

    def note_fixed(self, code: str, where: str) -> None:
        """Note that something was put right."""
        self.found = [
            replace(item, mended=True) if (item.code, item.where) == (code, where) else item
            for item in self.found
        ]


def try_read(
    read: Callable[[], Read], findings: Findings, code: str, where: str, advice: str = RESTORE
) -> Read | None:
    """Read something, or note that it cannot be read."""
    try:
        return read()
    except NotFound:
        findings.add(code, where, "it is missing", advice)
    except OmniError as error:
        findings.add(code, where, error.message, advice)
    return None


@dataclass(frozen=True)
class Repair:
    """What `repair` found and, with `confirm`, fixed."""

    confirmed: bool
    findings: tuple[Finding, ...]
    branches: int
    commits: int
    tables: int
    """Table versions that were opened."""
    files: int
    rows: int

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged, but for what was fixed."""
        return not any(item.severity == DAMAGE and not item.mended for item in self.findings)
