"""Reading very many small objects, each once, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.base.errors import NotFound, OmniError
from omnigraph.storage.objects import ObjectStore

_OBJECTS_PER_READ = 256


class Pages:
    """Objects that were listed, handed out once each; those that are listed next come with them."""

    def __init__(self, store: ObjectStore, paths: Iterable[str]) -> None:
        self._store = store
        self._paths = list(paths)
        self._places = {path: place for place, path in enumerate(self._paths)}
        self._read: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes:
        """Return the bytes of an object, or raise `NotFound`."""
        if path not in self._read:
            self._read_page(path)
        data = self._read.pop(path)
        if data is None:
            raise NotFound(f"there is no object {path!r} under {self._store.root_uri}", path=path)
        return data

    def _read_page(self, path: str) -> None:
        start = self._places.pop(path, None)
        page = [path] if start is None else self._paths[start : start + _OBJECTS_PER_READ]
        wanted = [path, *(item for item in page if item in self._places)]
        try:
            found = self._store.get_many(wanted)
        except OmniError:
            # One of them cannot be read: the others come when it is their turn.
            self._read[path] = self._store.get(path)
            return
        for item, data in zip(wanted, found, strict=True):
            self._places.pop(item, None)
            self._read[item] = data
