"""Verifying backups: every file of them is there, has its size and, when it is read, its hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from omnigraph.base.errors import CorruptState, FormatTooNew, FormatTooOld, NotFound
from omnigraph.graph.backup.manifest import Manifest, manifest_path
from omnigraph.graph.backup.progress import Progress, Told
from omnigraph.graph.backup.target import Target, object_path
from omnigraph.storage.files.copying import Content, content_of, side_by_side


@dataclass(frozen=True)
class Damage:
    """A file of a backup that is gone or is not what it was."""

    path: str
    """Where it lies in the target."""
    of: str
    """Its path in the graph; `the manifest` when it is that of a backup."""
    backups: tuple[str, ...]
    """The backups that hold it."""


@dataclass(frozen=True)
class Verification:
    """What was found."""

    backups: int
    files: int
    bytes: int
    damage: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        """Whether every backup can be restored."""
        return not self.damage


def verify(target: Target, backup: str | None, progress: Progress | None) -> Verification:
    """Read every file of a backup, or of all backups at a place."""
    ids = [backup] if backup is not None else target.ids()
    contents: dict[str, Content] = {}
    paths: dict[str, str] = {}
    holders: dict[str, list[str]] = {}
    unreadable: list[Damage] = []
    for id_ in ids:
        try:
            manifest = target.read(id_)
        except (FormatTooNew, FormatTooOld):
            raise
        except CorruptState:
            unreadable.append(Damage(manifest_path(id_), "the manifest", (id_,)))
            continue
        for path, content in manifest.objects().items():
            name = object_path(content)
            contents[name], paths[name] = content, path
            holders.setdefault(name, []).append(id_)
    total = sum(content.size for content in contents.values())
    lost = find_damaged(target, contents, Told("verify", [total], progress).advance)
    found = tuple(Damage(name, paths[name], tuple(holders[name])) for name in lost)
    return Verification(len(ids), len(contents), total, (*unreadable, *found))


def check_sizes(target: Target, manifest: Manifest) -> list[str]:
    """Return the files of a backup that are not there, or have another size."""
    lying = target.objects()
    found = {object_path(content): content.size for content in manifest.objects().values()}
    return sorted(name for name, size in found.items() if lying.get(name) != size)


def find_damaged(
    target: Target, contents: Mapping[str, Content], advance: Callable[[int], None]
) -> list[str]:
    """Read files of a target and return those that are not what they should be."""

    def look(item: tuple[str, Content]) -> tuple[str, Content, bool]:
        name, expected = item
        try:
            return name, expected, content_of(target.store, name) == expected
        except NotFound:
            return name, expected, False

    lost: list[str] = []
    for name, expected, is_sound in side_by_side([target.store], look, contents.items()):
        advance(expected.size)
        if not is_sound:
            lost.append(name)
    return sorted(lost)
