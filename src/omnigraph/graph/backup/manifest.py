"""The manifest of a backup: everything that it holds, by name, size and hash. It is written last.

Files of tables, commit records and schemas lie in the target once, under the hash of their content, whichever
backups hold them. What is small and may change (refs, tags, floors) is part of the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from omnigraph.base.plain import from_plain, to_plain
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRef
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import decode_tag
from omnigraph.storage.files.copying import Content

BACKUPS = "backups"
WHOLE = "graph"
SNAPSHOT = "snapshot"

_Value = TypeVar("_Value")


def manifest_path(backup: str) -> str:
    """Return where the manifest of a backup lies in its target."""
    return f"{BACKUPS}/{backup}.json"


@dataclass(frozen=True, slots=True)
class HeldCommit:
    """One commit record of a backup."""

    seq: int
    commit: str
    created_at: int
    content: Content
    schema: str
    """The address of its schema."""
    pins: frozenset[str]
    """The paths of the pins of its tables, but for those that were dropped for good."""
    merged: CommitRef | None = None
    closed: bool = False
    queries: str = ""
    """The address of its stored queries."""

    @property
    def definitions(self) -> tuple[str, ...]:
        """The addresses of its schema and its stored queries."""
        return (self.schema, self.queries) if self.queries else (self.schema,)


@dataclass(frozen=True)
class HeldChain:
    """What a backup holds of one chain."""

    incarnation: str
    branch: str
    fork: CommitRef | None
    commits: Mapping[int, HeldCommit]
    """By number."""
    dropped_tables: Mapping[str, int] = field(default_factory=dict)
    """By table identity: what commits before this number say of the table was dropped for good."""
    starts: tuple[int, ...] = ()
    """Commits that are kept for nothing but that merges start from them."""


@dataclass(frozen=True)
class Manifest:
    """One backup."""

    id: str
    created_at: int
    actor: str | None
    scope: str
    stamp: Stamp
    heads: Mapping[str, CommitRef]
    """By branch."""
    chains: Mapping[str, HeldChain]
    schemas: Mapping[str, Content]
    """Schemas and stored queries, by address."""
    files: Mapping[str, Content]
    """Files of tables, by their path in the graph."""
    versions: Mapping[str, frozenset[str]]
    """By the path of its pin: the files of each version of a table that some commit needs."""
    texts: Mapping[str, str]
    """Refs, tags, floors and the like, by their path in the graph."""
    since: str | None = None
    keys: Mapping[str, Content] = field(default_factory=dict)
    """Claims of idempotency keys whose commits are held, or were dropped, by their path in the graph."""

    @property
    def commits(self) -> Iterator[tuple[str, HeldCommit]]:
        """Yield every commit with its chain."""
        for chain in self.chains.values():
            for commit in chain.commits.values():
                yield chain.incarnation, commit

    def holds(self, commit: str) -> bool:
        """Return whether a commit is part of the backup."""
        return any(held.commit == commit for _, held in self.commits)

    def find_tagged(self, name: str) -> str | None:
        """Return the id of the commit that has a tag; None when the backup has no such tag."""
        path = layout.tag_path(name)
        text = self.texts.get(path)
        return None if text is None else decode_tag(text.encode(), path).ref.commit

    def has(self, ref: CommitRef) -> bool:
        """Return whether the commit in this place is part of the backup."""
        chain = self.chains.get(ref.incarnation)
        return chain is not None and ref.seq in chain.commits

    def objects(self) -> dict[str, Content]:
        """Return everything that lies in the target under its hash, by its path in the graph."""
        found = {**self.files, **self.keys}
        found.update({layout.schema_path(address): content for address, content in self.schemas.items()})
        for incarnation, held in self.commits:
            found[layout.record_path(incarnation, held.seq)] = held.content
        return found

    def encode(self) -> bytes:
        """Return the manifest as stored."""
        numbers = {path: number for number, path in enumerate(self.files)}
        return stored_format.encode(
            {
                "backup": self.id,
                "created_at": self.created_at,
                "actor": self.actor,
                "scope": self.scope,
                "since": self.since,
                "stamp": to_plain(self.stamp),
                "heads": _to_plain(self.heads),
                "chains": {name: _chain_json(chain, numbers) for name, chain in self.chains.items()},
                "schemas": _to_plain(self.schemas),
                "files": _to_plain(self.files),
                "versions": _versions_json(self.versions, numbers),
                "texts": dict(self.texts),
                "keys": _to_plain(self.keys),
            },
            manifest_path(self.id),
        )


def decode_manifest(data: bytes, path: str) -> Manifest:
    """Build a manifest from its stored form."""
    return stored_format.decode(data, path, "backup", _manifest)


def _manifest(data: Mapping[str, Any]) -> Manifest:
    files = _from_plain(Content, data["files"])
    paths = list(files)
    return Manifest(
        id=data["backup"],
        created_at=data["created_at"],
        actor=data["actor"],
        scope=data["scope"],
        stamp=from_plain(Stamp, data["stamp"]),
        heads=_from_plain(CommitRef, data["heads"]),
        chains={name: _chain(name, chain, paths) for name, chain in data["chains"].items()},
        schemas=_from_plain(Content, data["schemas"]),
        files=files,
        versions=_versions(data["versions"], paths),
        texts=data["texts"],
        since=data["since"],
        keys=_from_plain(Content, data["keys"]),
    )


def _to_plain(values: Mapping[str, object]) -> dict[str, Any]:
    return {name: to_plain(value) for name, value in values.items()}


def _from_plain(cls: type[_Value], data: Mapping[str, Any]) -> dict[str, _Value]:
    return {name: from_plain(cls, value) for name, value in data.items()}


def _chain_json(chain: HeldChain, numbers: Mapping[str, int]) -> dict[str, Any]:
    commits: list[dict[str, Any]] = []
    before: frozenset[str] = frozenset()
    for held in chain.commits.values():
        more, less = _difference(before, held.pins, numbers)
        commits.append({**to_plain(replace(held, pins=frozenset())), "pins": [more, less]})
        before = held.pins
    return {
        "branch": chain.branch,
        "fork": to_plain(chain.fork) if chain.fork else None,
        "tables": dict(chain.dropped_tables),
        "starts": list(chain.starts),
        "commits": commits,
    }


def _chain(incarnation: str, data: Mapping[str, Any], paths: Sequence[str]) -> HeldChain:
    commits: dict[int, HeldCommit] = {}
    pins: frozenset[str] = frozenset()
    for item in data["commits"]:
        more, less = item["pins"]
        pins = _sum(pins, more, less, paths)
        held = from_plain(HeldCommit, {**item, "pins": pins})
        commits[held.seq] = held
    fork = from_plain(CommitRef, data["fork"]) if data["fork"] else None
    return HeldChain(incarnation, data["branch"], fork, commits, data["tables"], tuple(data["starts"]))


def _versions_json(versions: Mapping[str, frozenset[str]], numbers: Mapping[str, int]) -> list[list[Any]]:
    found: list[list[Any]] = []
    before: frozenset[str] = frozenset()
    for pin, files in versions.items():
        found.append([numbers[pin], *_difference(before, files, numbers)])
        before = files
    return found


def _versions(data: Iterable[Any], paths: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    files: frozenset[str] = frozenset()
    for pin, more, less in data:
        files = found[paths[pin]] = _sum(files, more, less, paths)
    return found


def _difference(
    before: frozenset[str], after: frozenset[str], numbers: Mapping[str, int]
) -> tuple[list[int], list[int]]:
    """Return what comes and what goes from one set of paths to the next: most are shared."""
    more = sorted(numbers[path] for path in after - before)
    return more, sorted(numbers[path] for path in before - after)


def _sum(before: frozenset[str], more: list[int], less: list[int], paths: Sequence[str]) -> frozenset[str]:
    return (before - {paths[number] for number in less}) | {paths[number] for number in more}
