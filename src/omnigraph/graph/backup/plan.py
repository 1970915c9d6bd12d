"""What a backup has to do, and what its manifest says: decided from a look at the graph and at the target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from omnigraph.base.errors import CorruptState
from omnigraph.graph.backup.manifest import HeldChain, HeldCommit, Manifest
from omnigraph.graph.backup.seen_chains import ChangedMeanwhile, Place, SeenChain
from omnigraph.graph.backup.view import View
from omnigraph.graph.maintenance.cleanup.retention import ChainView, Limits, RetentionRoots, keep
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.condemned import Condemned
from omnigraph.graph.manifest.floors import Floor, join_drops, runs_of
from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.manifest.refs import encode_name
from omnigraph.storage.files.copying import Content
from omnigraph.storage.objects import ObjectInfo
from omnigraph.storage.versions.reachable import TableFiles


@dataclass(frozen=True)
class Folders:
    """The files of all tables of a graph, by path, with their sizes."""

    sizes: Mapping[str, int]
    below: Mapping[str, tuple[str, ...]]
    """What lies deeper than a table's own folders, by its folder: the parts of indexes and blobs."""

    @staticmethod
    def of(found: Iterable[ObjectInfo]) -> Folders:
        """Return what a listing found, to be looked up often."""
        sizes: dict[str, int] = {}
        below: dict[str, list[str]] = {}
        for info in found:
            sizes[info.path] = info.size
            parts = info.path.split("/")
            if len(parts) > 4:
                below.setdefault("/".join(parts[:4]), []).append(info.path)
        return Folders(sizes, {place: tuple(paths) for place, paths in below.items()})


@dataclass(frozen=True)
class KnownContents:
    """What earlier backups at a target tell."""

    versions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By pin: the files of versions."""
    contents: Mapping[str, Content] = field(default_factory=dict)
    """By path in the graph: what a file is."""

    @staticmethod
    def of(manifests: Iterable[Manifest]) -> KnownContents:
        """Return what manifests say."""
        versions: dict[str, frozenset[str]] = {}
        contents: dict[str, Content] = {}
        for manifest in manifests:
            versions.update(manifest.versions)
            contents.update(manifest.objects())
        return KnownContents(versions, contents)


@dataclass(frozen=True)
class Copied:
    """What became of the files of a backup."""

    versions: Mapping[str, frozenset[str]]
    """By pin: the files of every version that could be opened."""
    contents: Mapping[str, Content]
    """By path in the graph: what lies in the target."""
    missing: Collection[str] = frozenset()
    """Files and pins that were not there any more."""

    def content(self, path: str) -> Content:
        """Return what a file is that must be in the target."""
        if path not in self.contents:
            raise CorruptState(
                f"{path} is missing in the graph and in the target: run `omnigraph repair`", path=path
            )
        return self.contents[path]


def pin_path(entry: TableEntry) -> str:
    """Return the path, in the graph, of the pin of a table version."""
    return f"{entry.location}/{entry.pin.path}"


def to_hold(view: View) -> list[CommitRecord]:
    """Return the commits that must not be dropped while they are copied.

    These are the heads, forks and tags, and what later merges start from: what even that cleanup keeps which
    keeps the least. Other commits may be dropped meanwhile; then the backup is one of a graph without them.
    """
    fresh = view.fresh()
    chains = {
        chain.incarnation: ChainView(chain.incarnation, chain.branch, chain.fork, chain.live, chain.fresh)
        for chain in view.chains.values()
        if chain.fresh
    }
    standing = [ref for ref in view.standing() if (ref.incarnation, ref.seq) in fresh]
    kept = keep(chains, RetentionRoots(standing), Limits(keep=1)).pinned
    return [fresh[place] for place in sorted(kept) if place in fresh]


def new_versions(view: View, known: KnownContents) -> dict[str, TableEntry]:
    """Return the table versions that no backup holds yet, by pin."""
    entries = (entry for record in view.fresh().values() for entry in record.tables.values())
    return {pin: entry for entry in entries if (pin := pin_path(entry)) not in known.versions}


def files_of_version(files: TableFiles, location: str, folders: Folders) -> frozenset[str]:
    """Return the files of a table version by their path in the graph; what must be there is named anyway."""
    found = {f"{location}/{path}" for path in (files.pin, *files.needed)}
    for path in files.perhaps:
        place = f"{location}/{path}"
        if place in folders.sizes:
            found.add(place)
        found.update(folders.below.get(place, ()))
    return frozenset(found)


def control_objects(view: View) -> dict[str, int]:
    """Return the paths of the records and schemas that no backup holds yet, with about their sizes."""
    paths: dict[str, int] = {}
    for chain in view.chains.values():
        for seq, record in chain.fresh.items():
            paths[layout.record_path(chain.incarnation, seq)] = chain.contents[seq].size
            paths.update({layout.schema_path(address): 0 for address in record.definitions})
    return paths


def record_contents(view: View) -> dict[str, Content]:
    """Return the records that no backup holds yet, by path."""
    return {
        layout.record_path(chain.incarnation, seq): content
        for chain in view.chains.values()
        for seq, content in chain.contents.items()
    }


def paths_held_before(view: View, known: KnownContents) -> Iterator[str]:
    """Yield the paths, in the graph, of everything that earlier backups hold and this one is to hold too."""
    for chain in view.chains.values():
        for held in chain.known.values():
            yield layout.record_path(chain.incarnation, held.seq)
            yield from map(layout.schema_path, held.definitions)
            for pin in held.pins:
                yield from known.versions[pin]


def manifest_of(
    draft: Manifest,
    view: View,
    dropped: Collection[Place],
    floors: Mapping[str, Floor | None],
    copied: Copied,
) -> Manifest:
    """Return the manifest of a backup: what was looked at, without what a cleanup has dropped meanwhile."""
    chains: dict[str, HeldChain] = {}
    for seen in view.chains.values():
        floor = floors.get(seen.incarnation)
        tables = join_drops(seen.dropped_tables, floor.tables if floor else {})
        commits = dict(seen.known)
        for seq, record in seen.fresh.items():
            if (seen.incarnation, seq) not in dropped:
                commits[seq] = _hold(record, seen, tables, copied)
        # A chain that was removed meanwhile has lost the record that ends it: it is left out as a whole.
        if commits and (seen.live or commits[max(commits)].closed):
            chains[seen.incarnation] = HeldChain(
                seen.incarnation,
                seen.branch,
                seen.fork,
                dict(sorted(commits.items())),
                # What a commit after the look has dropped for good is whole at the last one of the backup.
                {identity: min(seq, max(commits)) for identity, seq in tables.items()},
                tuple(seq for seq in sorted(commits) if _is_start(seen, seq, floor, dropped)),
            )
    versions = _versions(chains.values(), copied.versions)
    files = sorted({path for found in versions.values() for path in found})
    held = [commit for chain in chains.values() for commit in chain.commits.values()]
    schemas = sorted({address for commit in held for address in commit.definitions})
    return replace(
        draft,
        heads=view.heads,
        chains=chains,
        schemas={address: copied.content(layout.schema_path(address)) for address in schemas},
        files={path: copied.content(path) for path in files},
        versions=versions,
        texts=_texts(view, chains.values()),
    )


def floor_of(chain: HeldChain) -> Floor | None:
    """Return the floor that says what a backup holds of a chain; None when that is all of it."""
    numbers = list(chain.commits)
    first, last = (chain.fork.seq if chain.fork else 0) + 1, numbers[-1]
    tables = {identity: seq for identity, seq in chain.dropped_tables.items() if seq > numbers[0]}
    if numbers == list(range(first, last + 1)) and not (tables or chain.starts):
        return None
    below = last
    while below - 1 in chain.commits:
        below -= 1
    return Floor(
        incarnation=chain.incarnation,
        branch=chain.branch,
        fork=chain.fork,
        below=below,
        since=chain.commits[below].created_at,
        kept=runs_of(seq for seq in numbers if seq < below),
        tables=tables,
        starts=chain.starts,
    )


def _is_start(chain: SeenChain, seq: int, floor: Floor | None, dropped: Collection[Place]) -> bool:
    """Return whether a commit is kept for merges alone: now, or when it was dropped."""
    if (chain.incarnation, seq) in dropped:
        return seq in chain.starts
    return floor is not None and floor.is_start(seq)


def _hold(record: CommitRecord, chain: SeenChain, tables: Mapping[str, int], copied: Copied) -> HeldCommit:
    pins: set[str] = set()
    for identity, entry in record.tables.items():
        pin = pin_path(entry)
        files = copied.versions.get(pin, frozenset([pin]))
        lost = sorted(path for path in files if path in copied.missing)
        if not lost:
            pins.add(pin)
        elif record.seq == chain.last < tables.get(identity, 0):
            raise ChangedMeanwhile  # it was dropped for good after the look, and nothing has held the head
        elif record.seq >= tables.get(identity, 0):
            raise CorruptState(
                f"{lost[0]}, which commit {record.commit} needs, is missing and no cleanup has dropped it: "
                "run `omnigraph repair`",
                path=lost[0],
            )
    return HeldCommit(
        record.seq,
        record.commit,
        record.created_at,
        chain.contents[record.seq],
        record.schema,
        frozenset(pins),
        record.merged_parent,
        record.closed,
        record.queries,
    )


def _versions(chains: Iterable[HeldChain], found: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the versions that commits need, those of one table side by side: they differ least."""
    tables: dict[str, dict[str, None]] = {}
    for chain in chains:
        for held in chain.commits.values():
            for pin in held.pins:
                tables.setdefault(pin.split("/_pins/")[0], {})[pin] = None
    return {pin: found[pin] for _, pins in sorted(tables.items()) for pin in pins}


def _texts(view: View, chains: Iterable[HeldChain]) -> dict[str, str]:
    texts = {layout.ref_path(ref.name): ref.encode().decode() for ref in view.refs}
    texts.update({layout.name_path(ref.name): encode_name(ref.name).decode() for ref in view.refs})
    texts.update({layout.tag_path(tag.name): tag.encode().decode() for tag in view.tags})
    texts.update(view.notes)
    if view.fence:
        # Commits know of cleanups: the next one goes on from their number, though this one condemned nothing.
        texts[layout.condemned_path(view.fence)] = Condemned(view.fence).encode().decode()
    for chain in chains:
        if (floor := floor_of(chain)) is not None:
            texts[layout.floor_path(chain.incarnation)] = floor.encode().decode()
    return texts
