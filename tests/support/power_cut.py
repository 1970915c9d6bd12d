"""A disk that forgets what was not flushed: it replays a recording and shows what a power cut may leave.

The rules are harsher than those of any usual file system, which does more than it must:
- of a file, what was written since it was last flushed may be there, be missing, be cut short or be zeros;
- of a folder, the changes of names since it was last flushed may be there as far as any one of them: they are
  kept in their order (a rename inside a folder is one change, one between folders a change of each), and each
  folder is kept as far as it happens to be, whatever became of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from support.recorder import Step


@dataclass(eq=False)
class File:
    """A file's bytes now, and as they were flushed."""

    data: bytearray = field(default_factory=bytearray)
    flushed: bytes = b""


@dataclass(frozen=True, eq=False)
class Link:
    """A symbolic link."""

    target: bytes


@dataclass(eq=False)
class Folder:
    """A folder's names now, as they were flushed, and the changes since."""

    names: dict[str, Node] = field(default_factory=dict)
    flushed: dict[str, Node] = field(default_factory=dict)
    changes: list[list[tuple[str, Node | None]]] = field(default_factory=list)

    def change(self, *changed: tuple[str, Node | None]) -> None:
        """Change names as one."""
        self.changes.append(list(changed))
        _apply(self.names, changed)


Node = File | Folder | Link
Loss = Callable[[int], int]
"""How many of so many changes are left; at random, or none, or all."""


class Disk:
    """The files below one folder, which is itself there for good."""

    def __init__(self, base: Path) -> None:
        self._base = str(base)
        self._root = Folder()

    def replay(self, steps: Iterable[Step]) -> None:
        """Do what was recorded."""
        for step in steps:
            getattr(self, f"_{step.what}")(step)

    def leave(self, target: Path, loss: Loss) -> None:
        """Write what a power cut leaves to a folder."""
        target.mkdir(parents=True)
        _write(self._root, target, loss)

    def _find(self, path: str) -> Node:
        node: Node = self._root
        for part in self._parts(path):
            assert isinstance(node, Folder), path
            node = node.names[part]
        return node

    def _parts(self, path: str) -> list[str]:
        inside = os.path.relpath(path, self._base)
        return [] if inside == "." else inside.split("/")

    def _place(self, path: str) -> tuple[Folder, str]:
        folder, name = os.path.split(path)
        found = self._find(folder)
        assert isinstance(found, Folder), path
        return found, name

    def _file(self, path: str) -> File | None:
        if path.endswith(" (deleted)"):
            return None
        found = self._find(path)
        assert isinstance(found, File), path
        return found

    def _mark(self, step: Step) -> None:
        pass

    def _make(self, step: Step) -> None:
        folder, name = self._place(step.path)
        if name not in folder.names:
            folder.change((name, File()))

    def _mkdir(self, step: Step) -> None:
        folder, name = self._place(step.path)
        folder.change((name, Folder()))

    def _symlink(self, step: Step) -> None:
        folder, name = self._place(step.path)
        folder.change((name, Link(step.data)))

    def _unlink(self, step: Step) -> None:
        folder, name = self._place(step.path)
        folder.change((name, None))

    _rmdir = _unlink

    def _link(self, step: Step) -> None:
        folder, name = self._place(step.other)
        folder.change((name, self._find(step.path)))

    def _rename(self, step: Step) -> None:
        node = self._find(step.path)
        (source, old), (target, new) = self._place(step.path), self._place(step.other)
        if source is target:
            source.change((old, None), (new, node))
        else:
            target.change((new, node))
            source.change((old, None))

    def _write(self, step: Step) -> None:
        if (file := self._file(step.path)) is not None:
            file.data.extend(bytes(max(0, step.number - len(file.data))))
            file.data[step.number : step.number + len(step.data)] = step.data

    def _resize(self, step: Step) -> None:
        if (file := self._file(step.path)) is not None:
            del file.data[step.number :]
            file.data.extend(bytes(step.number - len(file.data)))

    def _extend(self, step: Step) -> None:
        if (file := self._file(step.path)) is not None:
            file.data.extend(bytes(max(0, step.number - len(file.data))))

    def _flush(self, step: Step) -> None:
        if step.path.endswith(" (deleted)"):
            return
        node = self._find(step.path)
        if isinstance(node, File):
            node.flushed = bytes(node.data)
        elif isinstance(node, Folder):
            node.flushed = dict(node.names)
            node.changes.clear()


def nothing(count: int) -> int:
    """Lose all that was not flushed."""
    return 0


def everything(count: int) -> int:
    """Lose nothing."""
    return count


def _apply(names: dict[str, Node], changed: Iterable[tuple[str, Node | None]]) -> None:
    for name, node in changed:
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def _write(folder: Folder, target: Path, loss: Loss) -> None:
    names = dict(folder.flushed)
    for change in folder.changes[: loss(len(folder.changes))]:
        _apply(names, change)
    for name, node in names.items():
        place = target / name
        if isinstance(node, Folder):
            place.mkdir()
            _write(node, place, loss)
        elif isinstance(node, Link):
            os.symlink(node.target, place)
        else:
            place.write_bytes(_left_of(node, loss))


def _left_of(file: File, loss: Loss) -> bytes:
    if bytes(file.data) == file.flushed:
        return file.flushed
    # Flushed, whole, cut short, or long enough and not written.
    kind = loss(3)
    if kind == 0:
        return file.flushed
    if kind == 3:
        return bytes(file.data)
    kept = loss(len(file.data))
    return bytes(file.data[:kept]) if kind == 1 else bytes(file.data[:kept]).ljust(len(file.data), b"\0")
