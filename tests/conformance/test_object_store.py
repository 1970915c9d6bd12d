"""The contract of `ObjectStore` (engine.md A41): one suite, run on local disk, in memory and on S3."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import lance
import pyarrow as pa
import pytest

from omnigraph.base import telemetry
from omnigraph.base.errors import AlreadyExists, InvalidName, NotFound, PreconditionFailed
from omnigraph.storage.objects import ObjectStore
from support import object_workers as workers
from support.processes import run_and_wait, run_in_threads, run_together

UNUSUAL = [
    "with space/and  two",
    "per%20cent/100%",
    "ümlaut/数据/🙂",
    "a#1",
    "colon:semi;comma,",
    "query?x=1&y=2+3",
    "quote'\"<>|",
    ".hidden/file",
    "~tilde^caret`tick",
    "back\\slash",
]


def together(place: Any, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run workers at once, in processes where the store can be shared between processes."""
    if place.many_processes:
        return run_together(function, [(place.store(), *given) for given in arguments])
    return run_in_threads(function, [(place.store(), *given) for given in arguments])


def paths(store: ObjectStore, prefix: str = "") -> list[str]:
    return [found.path for found in store.list(prefix)]


# Reading and writing


def test_what_was_written_is_read(any_store: ObjectStore) -> None:
    any_store.put("a/b", b"one")
    assert any_store.get("a/b") == b"one"


def test_a_missing_object_is_not_found(any_store: ObjectStore) -> None:
    any_store.put("there/x", b"")
    for path in ("nothing", "there", "there/x/y"):
        with pytest.raises(NotFound) as caught:
            any_store.get(path)
        assert caught.value.path == path
        with pytest.raises(NotFound):
            any_store.get_versioned(path)


@pytest.mark.parametrize("size", [0, 1, 6 * 1024 * 1024])
def test_an_object_of_any_size_comes_back_whole(any_store: ObjectStore, size: int) -> None:
    data = bytes(range(251)) * (size // 251) + b"x" * (size % 251)
    any_store.create("created", data)
    any_store.put("put", data)
    assert any_store.get("created") == any_store.get("put") == data


def test_put_replaces_what_is_there(any_store: ObjectStore) -> None:
    any_store.put("a", b"a long first version")
    any_store.put("a", b"second")
    assert any_store.get("a") == b"second"


def test_an_acknowledged_write_is_readable_by_anyone(place: Any) -> None:
    place.store().put("a", b"put")
    place.store().create("b", b"created")
    assert place.store().get("a") == b"put"
    assert together(place, workers.read, [("a",), ("b",), ("c",)]) == [b"put", b"created", None]


def test_replacing_is_atomic_for_readers(place: Any) -> None:
    size, times = 200_000, 60
    place.store().put("page", b"0" * size)
    roles = [("writer", times, size, 1), ("writer", times, size, 2), ("reader", 2 * times, size, 0)]
    together(place, workers.write_or_read, roles)


def test_many_objects_are_read_at_once_in_the_order_asked(any_store: ObjectStore) -> None:
    for number in range(40):
        any_store.put(f"n/{number}", b"%d" % number)
    wanted = [f"n/{number}" for number in range(50)]
    expected = [b"%d" % number if number < 40 else None for number in range(50)]
    assert any_store.get_many(wanted) == expected
    assert any_store.get_many([]) == []


# Create


def test_create_refuses_an_object_that_is_there(any_store: ObjectStore) -> None:
    any_store.create("a", b"first")
    with pytest.raises(AlreadyExists) as caught:
        any_store.create("a", b"second")
    assert caught.value.path == "a"
    assert any_store.get("a") == b"first"


def test_an_object_can_be_created_again_after_it_was_deleted(any_store: ObjectStore) -> None:
    any_store.create("a", b"first")
    any_store.delete("a")
    any_store.create("a", b"second")
    assert any_store.get("a") == b"second"


def test_of_many_creators_one_wins_and_its_object_is_complete_at_once(place: Any) -> None:
    rounds, writers = 50, 4
    won = together(place, workers.race_to_create, [(rounds, 20_000, me) for me in range(writers)])
    assert [sum(each) for each in zip(*won, strict=True)] == [1] * rounds
    for number in range(rounds):
        winner = [each[number] for each in won].index(True)
        assert place.store().get(f"race/{number}")[0] == winner


# Replace if unchanged


def test_replace_takes_the_tag_that_was_read(any_store: ObjectStore) -> None:
    any_store.put("a", b"1")
    read = any_store.get_versioned("a")
    assert read.data == b"1"
    tag = any_store.replace("a", b"2", read.etag)
    assert any_store.get_versioned("a").etag == tag
    any_store.replace("a", b"3", tag)
    assert any_store.get("a") == b"3"


def test_if_match_loses_loudly(any_store: ObjectStore) -> None:
    any_store.put("a", b"1")
    stale = any_store.get_versioned("a").etag
    any_store.put("a", b"2")
    with pytest.raises(PreconditionFailed) as caught:
        any_store.replace("a", b"3", stale)
    assert caught.value.path == "a"
    assert any_store.get("a") == b"2"


def test_if_match_fails_on_an_object_that_is_gone(any_store: ObjectStore) -> None:
    any_store.put("a", b"1")
    tag = any_store.get_versioned("a").etag
    any_store.delete("a")
    with pytest.raises(PreconditionFailed):
        any_store.replace("a", b"2", tag)
    assert not any_store.exists("a")


def test_no_increment_through_if_match_is_lost(place: Any) -> None:
    processes, times = 4, 25
    place.store().put("counter", b"0")
    together(place, workers.increment, [(times,)] * processes)
    assert place.store().get("counter") == b"%d" % (processes * times)


# Delete and move


def test_deletes_are_idempotent(any_store: ObjectStore) -> None:
    any_store.put("a/b", b"")
    any_store.delete("a/b")
    any_store.delete("a/b")
    any_store.delete("never/was")
    assert not any_store.exists("a/b")


def test_a_discarded_object_is_gone_and_syncing_what_is_gone_succeeds(any_store: ObjectStore) -> None:
    any_store.put("a/b", b"")
    any_store.put("a/c/d", b"")
    any_store.discard("a")
    any_store.discard("a/b")
    any_store.discard("a/b")
    assert paths(any_store) == ["a/c/d"]
    any_store.sync(["a/b", "a/c/", "a/c/d", "never/was", "never/"])


def test_deleting_a_prefix_leaves_what_is_under_it(any_store: ObjectStore) -> None:
    any_store.put("a/b", b"")
    any_store.delete("a")
    assert any_store.exists("a/b")


def test_a_moved_object_is_at_its_new_path_only(any_store: ObjectStore) -> None:
    any_store.put("old/place", b"data")
    any_store.move("old/place", "new/deep/place")
    assert any_store.get("new/deep/place") == b"data"
    assert paths(any_store) == ["new/deep/place"]


def test_moving_what_is_not_there_is_not_found(any_store: ObjectStore) -> None:
    with pytest.raises(NotFound):
        any_store.move("nothing", "target")
    assert not any_store.exists("target")


# Exists


def test_a_path_exists_as_an_object_or_as_a_prefix_of_one(any_store: ObjectStore) -> None:
    any_store.put("a/b/c", b"")
    found = [path for path in ("a", "a/", "a/b", "a/b/c", "a/b/c/d", "a/bb", "b") if any_store.exists(path)]
    assert found == ["a", "a/", "a/b", "a/b/c"]


def test_a_prefix_without_objects_does_not_exist(any_store: ObjectStore) -> None:
    assert not any_store.exists("")
    any_store.put("a/b/c", b"")
    assert any_store.exists("")
    any_store.delete("a/b/c")
    assert not any_store.exists("a/b")
    assert not any_store.exists("a")
    assert not any_store.exists("")


# List


def test_a_listing_never_bleeds_into_sibling_prefixes(any_store: ObjectStore) -> None:
    for path in ("a/1", "a/b/2", "ab/3", "a-b/4", "a.b", "b/a/5"):
        any_store.put(path, b"")
    assert paths(any_store, "a") == ["a/1", "a/b/2"]
    assert paths(any_store, "a/") == ["a/1", "a/b/2"]
    assert paths(any_store, "a/b") == ["a/b/2"]
    assert paths(any_store, "ab") == ["ab/3"]


def test_a_listing_of_an_object_or_of_nothing_is_empty(any_store: ObjectStore) -> None:
    any_store.put("a/b", b"")
    assert paths(any_store, "a/b") == paths(any_store, "a/c") == paths(any_store, "z") == []


def test_a_listing_is_in_the_order_of_paths(any_store: ObjectStore) -> None:
    names = ["b", "a/b", "a/a/z", "a-b", "a.c/x", "a0", "B", "ä", "a/a-z"]
    for name in names:
        any_store.put(name, b"")
    assert paths(any_store) == sorted(names)


def test_a_listing_begins_after_a_path_whatever_folders_there_are(any_store: ObjectStore) -> None:
    names = ["a/1/x", "a/1/y", "a/1-z", "a/2/x", "a/2/y", "a/20/x", "a/3", "a/4/5/6"]
    for name in names:
        any_store.put(name, b"")
    for after in [*names, "a", "a/2/xx", "a/2/y~", "a/9", ""]:
        found = [info.path for info in any_store.list("a", after)]
        assert found == sorted(name for name in names if name > after), after


def test_a_listing_goes_past_one_page(any_store: ObjectStore) -> None:
    names = [f"n/{number:04}" for number in range(1100)]
    for name in names:
        any_store.put(name, b"")
    assert paths(any_store, "n") == names


def test_a_listing_tells_size_and_time(any_store: ObjectStore) -> None:
    any_store.put("a", b"12345")
    (found,) = any_store.list()
    assert found.size == 5
    assert found.last_modified.tzinfo is not None
    assert found.last_modified.year >= 2024


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_a_listing_yields_can_be_given_to_every_method(any_store: ObjectStore, name: str) -> None:
    any_store.create(name, b"1")
    (found,) = any_store.list()
    assert found.path == name
    assert any_store.exists(name)
    any_store.replace(name, b"2", any_store.get_versioned(name).etag)
    any_store.move(name, f"moved/{name}")
    assert any_store.get_many([f"moved/{name}"]) == [b"2"]
    any_store.delete(f"moved/{name}")
    assert paths(any_store) == []


def test_staging_residue_is_invisible(place: Any) -> None:
    store = place.store()
    if place.kind == "local":
        assert run_and_wait(workers.die_while_creating, place.uri, place.options) < 0
    if place.kind == "s3":
        start_an_upload_and_leave_it(place)
    assert paths(store) == []
    assert not store.exists("object")
    assert not store.exists("")
    store.create("object", b"data")
    assert paths(store) == ["object"]


def start_an_upload_and_leave_it(place: Any) -> None:
    bucket = place.uri.removeprefix("s3://")
    key = place.options["aws_access_key_id"]
    who = f"AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/s3/aws4_request"
    url = f"{place.options['aws_endpoint']}/{bucket}/object?uploads"
    urlopen(HttpRequest(url, method="POST", headers={"Authorization": who})).close()


# Paths, roots and the rest


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b", "a\nb", ".og", "a/.og/locks/1"]
)
def test_a_path_that_is_not_one_is_refused_by_every_method(any_store: ObjectStore, path: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: any_store.get(path),
        lambda: any_store.get_versioned(path),
        lambda: any_store.get_many([path]),
        lambda: any_store.put(path, b""),
        lambda: any_store.create(path, b""),
        lambda: any_store.replace(path, b"", ""),
        lambda: any_store.delete(path),
        lambda: any_store.discard(path),
        lambda: any_store.move(path, "x"),
        lambda: any_store.move("x", path),
    ]
    for call in calls:
        with pytest.raises(InvalidName):
            call()
    if path not in ("", "a/"):
        with pytest.raises(InvalidName):
            any_store.exists(path)
        with pytest.raises(InvalidName):
            list(any_store.list(path))


def test_stores_of_two_prefixes_do_not_see_each_other(place: Any) -> None:
    one, two = place.store("p"), place.store("pp")
    one.put("x", b"1")
    two.put("x", b"2")
    assert (one.get("x"), two.get("x")) == (b"1", b"2")
    assert paths(one) == paths(two) == ["x"]
    assert paths(place.store()) == ["p/x", "pp/x"]


def test_a_store_is_pickled_as_the_same_place(place: Any) -> None:
    store = place.store()
    if not place.many_processes:
        with pytest.raises(TypeError, match="memory"):
            pickle.dumps(store)
        return
    store.put("a", b"1")
    again = pickle.loads(pickle.dumps(store))
    assert again.get("a") == b"1"
    told = again.lance_options()
    told.pop("credentials_file", None)  # which stood for the credentials in the pickle
    assert (again.root_uri, told) == (store.root_uri, store.lance_options())


def test_a_store_shows_its_root_and_no_secret(place: Any) -> None:
    shown = repr(place.store())
    assert "root" in shown or "memory://" in shown
    assert "secret" not in shown


def test_lance_reaches_the_same_root_with_the_stores_settings(any_store: ObjectStore) -> None:
    table = f"{any_store.root_uri}/table"
    options = any_store.lance_options()
    lance.write_dataset(pa.table({"n": [1, 2, 3]}), table, storage_options=options)
    assert lance.dataset(table, storage_options=options).count_rows() == 3
    if any_store.scheme != "memory":
        assert any(path.startswith("table/data/") for path in paths(any_store))


def test_every_call_is_counted_by_its_kind(any_store: ObjectStore) -> None:
    with telemetry.measure() as counts:
        any_store.create("a", b"")
        with pytest.raises(AlreadyExists):
            any_store.create("a", b"")
        any_store.put("b", b"")
        any_store.get("a")
        with pytest.raises(NotFound):
            any_store.get("c")
        any_store.get_many(["a", "b", "c"])
        any_store.replace("a", b"1", any_store.get_versioned("a").etag)
        any_store.exists("a")
        list(any_store.list())
        any_store.move("a", "d")
        any_store.delete("d")
    assert counts.as_dict() == {
        "objects.create": 2,
        "objects.create_lost": 1,
        "objects.delete": 1,
        "objects.get": 4,
        "objects.get_missing": 2,
        "objects.head": 1,
        "objects.list": 1,
        "objects.move": 1,
        "objects.put": 1,
        "objects.replace": 1,
    }
