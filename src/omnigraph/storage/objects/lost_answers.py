"""A conditional write whose own lost answer is not taken for somebody else's write."""

from __future__ import annotations

from omnigraph.base.errors import AlreadyExists, NotFound, PreconditionFailed, Unavailable
from omnigraph.storage.objects.store import ObjectStore


def put_over(store: ObjectStore, path: str, data: bytes, etag: str | None) -> str | None:
    """Write an object over the one that has this tag, or where there is none, and return its new tag.

    None means that others came first. Who finds its own bytes in storage has written them, so bytes that two
    callers might both write must say whose they are, unless it does not matter who did.
    """
    try:
        return store.create(path, data) if etag is None else store.replace(path, data, etag)
    except (AlreadyExists, PreconditionFailed):
        return _tag_of(store, path, data)
    except Unavailable:
        written = _tag_of(store, path, data)
        if written is None:
            raise
        return written


def put_new(store: ObjectStore, path: str, data: bytes) -> None:
    """Write an object under a name that nobody else has, or raise `AlreadyExists`."""
    if put_over(store, path, data, None) is None:
        raise AlreadyExists(f"there is another object at {path}: nothing was written", path=path)


def _tag_of(store: ObjectStore, path: str, data: bytes) -> str | None:
    """Return the tag of an object if it has these bytes."""
    try:
        stored = store.get_versioned(path)
    except NotFound:
        return None
    return stored.etag if stored.data == data else None
