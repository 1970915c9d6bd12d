"""What the processes of the object-store tests do."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Mapping

from omnigraph.base.errors import AlreadyExists, NotFound, OmniError, PreconditionFailed, Unavailable
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.objects.local import LocalStore

LARGE_OBJECT = b"x" * 100_000


def race_to_create(store: ObjectStore, rounds: int, size: int, me: int) -> list[bool]:
    """Try to create `race/<round>` in every round; check what is visible; return the rounds won."""
    won = []
    for number in range(rounds):
        path = f"race/{number}"
        try:
            store.create(path, bytes([me]) * size)
            won.append(True)
        except AlreadyExists:
            won.append(False)
        seen = store.get(path)
        assert len(seen) == size, "visible before it was complete"
        assert seen == seen[:1] * size, "two writers mixed"
    return won


def increment(store: ObjectStore, times: int) -> int:
    """Add one to `counter` so many times, through if-match; return how often the race was lost."""
    lost = 0
    for _ in range(times):
        while True:
            found = store.get_versioned("counter")
            try:
                store.replace("counter", b"%d" % (int(found.data) + 1), found.etag)
                break
            except PreconditionFailed:
                lost += 1
    return lost


def rewrite(store: ObjectStore, times: int, size: int, me: int) -> None:
    """Overwrite `page` again and again with one letter."""
    for _ in range(times):
        store.put("page", bytes([me]) * size)


def read_whole_pages(store: ObjectStore, times: int, size: int) -> None:
    """Read `page` again and again and check that it is never torn."""
    for _ in range(times):
        page = store.get("page")
        assert page == page[:1] * size, "a reader saw half a write"


def write_or_read(store: ObjectStore, role: str, times: int, size: int, me: int) -> None:
    """Be one of the writers or one of the readers of `page`."""
    if role == "writer":
        rewrite(store, times, size, me)
    else:
        read_whole_pages(store, times, size)


def read(store: ObjectStore, path: str) -> bytes | None:
    """Return an object's bytes, None where there is none."""
    try:
        return store.get(path)
    except NotFound:
        return None


def die_while_creating(uri: str, options: Mapping[str, str]) -> None:
    """Kill this process after the staging file is written and before the object is visible."""
    store = open_store(uri, options)
    os.link = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    store.create("object", b"never visible")


def stop_inside(uri: str, how: str, etag: str) -> str:
    """Change `a`, but stop this process right before the step that does it; say what came of it."""
    store = open_store(uri)
    once = iter([True])

    def stop_first(step: Callable[..., None]) -> Callable[..., None]:
        def stopped(*names: str) -> None:
            if next(once, False):
                os.kill(os.getpid(), signal.SIGSTOP)
            step(*names)

        return stopped

    os.replace, os.rename, os.link = (stop_first(step) for step in (os.replace, os.rename, os.link))
    acts = {
        "replace": lambda: store.replace("a", b"late", etag),
        "put": lambda: store.put("a", b"late"),
        "delete": lambda: store.delete("a"),
        "create": lambda: store.create("new", b"late"),
    }
    try:
        acts[how]()
        return "done"
    except OmniError as error:
        return type(error).__name__


def stop_while_claiming(uri: str, how: str) -> str:
    """Put or delete `a`, but stop this process right before it claims; say what came of it."""
    store = open_store(uri)
    link, once = os.link, iter([True])

    def stop_first(*names: str) -> None:
        if next(once, False):
            os.kill(os.getpid(), signal.SIGSTOP)
        link(*names)

    os.link = stop_first
    if how == "put":
        store.put("a", b"late")
    else:
        store.delete("a")
    return "done"


def increment_impatiently(uri: str, times: int) -> int:
    """Add one to `counter` so many times, overtaking everyone who is met half-way."""
    return increment(LocalStore(uri, patience=0.0), times)


def die_while_holding_the_lock(uri: str, options: Mapping[str, str]) -> None:
    """Kill this process inside the compare-and-swap of `counter`."""
    store = open_store(uri, options)
    found = store.get_versioned("counter")
    os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    store.replace("counter", b"never visible", found.etag)


def try_everything(uri: str) -> dict[str, OmniError | None]:
    """Return what each method says about a root that refuses."""
    store = open_store(uri)
    calls = {
        "create": lambda: store.create("new", b""),
        "put": lambda: store.put("a/b", b"2"),
        "replace": lambda: store.replace("a/b", b"2", ""),
        "delete": lambda: store.delete("a/b"),
        "move": lambda: store.move("a/b", "c"),
        "get": lambda: store.get("a/b"),
        "exists": lambda: store.exists("a/b"),
        "exists_prefix": lambda: store.exists("a"),
        "list": lambda: list(store.list()),
    }
    said: dict[str, OmniError | None] = {}
    for name, call in calls.items():
        try:
            call()
            said[name] = None
        except OmniError as error:
            said[name] = error
    return said


def write_beyond_a_limit(uri: str, how: str) -> tuple[str, list[str]]:
    """Allow files of 1000 bytes only, write a larger one, and return the error and what lies in staging."""
    store = open_store(uri)
    store.put("a", b"old")
    etag = store.get_versioned("a").etag
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        if how == "create":
            store.create("b", LARGE_OBJECT)
        elif how == "put":
            store.put("a", LARGE_OBJECT)
        else:
            store.replace("a", LARGE_OBJECT, etag)
    except Unavailable as error:
        return str(error), os.listdir(f"{uri}/.og/staging")
    return "", []
