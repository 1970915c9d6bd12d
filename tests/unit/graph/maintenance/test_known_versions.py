"""What a cleanup has found out about table versions, and left to the next one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.base.errors import CorruptState
from omnigraph.graph.maintenance.cleanup.known_versions import PLACE, KnownVersions
from omnigraph.storage.objects import open_store
from omnigraph.storage.versions.reachable import TableFiles
from support.care import DELETE, PEOPLE, at_once, files, fill, open_again


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 6)
    graph.mutate(DELETE, {"n": "p3"})
    graph.branches.create("dev")
    fill(graph, 2, 20, "dev")
    return graph


def _opens(work: Callable[[], object]) -> int:
    with telemetry.measure() as counts:
        work()
    return counts["tables.open"]


def _random_versions(seed: int, count: int) -> list[TableFiles]:
    dice = random.Random(seed)
    data = {f"data/{number}.lance": 100 + number for number in range(12)}
    found = []
    for number in range(count):
        needed: dict[str, int | None] = {path: size for path, size in data.items() if dice.random() < 0.6}
        if dice.random() < 0.5:
            needed[f"_deletions/{dice.randrange(4)}.arrow"] = None
        perhaps = frozenset(f"_indices/{item}" for item in range(4) if dice.random() < 0.4)
        found.append(TableFiles(f"_pins/{number}/1.manifest", dice.randrange(99), 3, needed, perhaps))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_what_is_known_of_versions_is_what_was_read_of_them(tmp_path: Path, seed: int) -> None:
    store, dice = open_store(str(tmp_path)), random.Random(seed)
    versions = {item.pin: item for item in _random_versions(seed, 12)}
    known = KnownVersions()
    left = list(versions)
    for pins in (left[:5], left[5:]):
        for pin in pins:
            known.add("nodes/p", versions[pin])
            known.add("nodes/q", versions[pin])
        known.save(store)
        known = KnownVersions.load(store)
    for _ in range(4):
        some = dice.sample(left, dice.randrange(len(left) + 1))
        expected = {path for pin in some for path in versions[pin].paths()}
        assert known.paths("nodes/p", set(some)) == expected
        needed = {path: size for pin in some for path, size in versions[pin].needed.items()}
        assert known.find_files("nodes/p", set(some)) == needed
        left = dice.sample(left, max(1, len(left) - 2))
        known.forget({"nodes/p": left}, ["nodes/p"])
        known.save(store)
        known = KnownVersions.load(store)
        assert [pin for pin in versions if known.has("nodes/p", pin)] == sorted(
            left, key=list(versions).index
        )
        assert all(known.has("nodes/q", pin) for pin in versions)
        assert all(known.counts("nodes/p", pin) == (versions[pin].rows, 3) for pin in left)


@pytest.mark.parametrize("seed", range(20))
def test_versions_that_lack_a_file_are_not_whole(seed: int) -> None:
    dice = random.Random(seed)
    versions = {item.pin: item for item in _random_versions(seed, 12)}
    known = KnownVersions()
    for item in list(versions.values())[:10]:
        known.add("nodes/p", item)
    needed = {path: size for item in versions.values() for path, size in item.needed.items()}
    sizes = {**{path: size or 7 for path, size in needed.items()}, **dict.fromkeys(versions, 1)}
    del sizes[dice.choice(list(sizes))]
    sizes[dice.choice([path for path in sizes if path.startswith("data/")])] += 1
    asked = dice.sample(list(versions), 8)
    expected = {
        pin
        for pin in asked
        if pin in list(versions)[:10]
        and pin in sizes
        and all(path in sizes and size in (None, sizes[path]) for path, size in versions[pin].needed.items())
    }
    whole, files = known.find_whole("nodes/p", asked, sizes)
    assert whole == expected
    assert files == {path: size for pin in whole for path, size in versions[pin].needed.items()}
    assert known.find_whole("nodes/q", asked, sizes) == (set(), {})


def test_a_second_cleanup_opens_nothing_and_stores_nothing(graph: og.Graph) -> None:
    assert _opens(graph.cleanup) > 0
    stored = (Path(graph.uri) / PLACE).read_bytes()
    before = files(Path(graph.uri))
    fresh = open_again(graph.uri)
    with telemetry.measure() as counts:
        done = fresh.cleanup()
    assert counts["tables.open"] == 0
    assert counts["objects.put"] == 1, "the object that tells the time"
    assert (done.files, done.commits_dropped) == (0, 0)
    assert (Path(graph.uri) / PLACE).read_bytes() == stored
    assert files(Path(graph.uri)) == before


def test_a_cleanup_opens_only_versions_that_are_new(graph: og.Graph) -> None:
    graph.cleanup()
    fill(graph, 3, 50)
    assert _opens(open_again(graph.uri).cleanup) == 3


def _damage(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: place.unlink(),
        _damage,
        lambda place: place.write_bytes(place.read_bytes()[:-3]),
        lambda place: place.write_bytes(b""),
        lambda place: place.write_bytes(b"{}"),
        lambda place: place.write_bytes(place.read_bytes().replace(b"versions 1", b"versions 9")),
    ],
    ids=["lost", "flipped", "short", "empty", "foreign", "of another release"],
)
def test_what_cannot_be_trusted_is_made_again(graph: og.Graph, harm: Callable[[Path], None]) -> None:
    graph.cleanup()
    place = Path(graph.uri) / PLACE
    stored = place.read_bytes()
    harm(place)
    done = open_again(graph.uri).cleanup()
    assert (done.files, done.commits_dropped) == (0, 0)
    assert place.read_bytes() == stored
    assert _opens(open_again(graph.uri).cleanup) == 0


def test_that_it_cannot_be_stored_is_no_reason_to_fail(graph: og.Graph) -> None:
    (Path(graph.uri) / PLACE).mkdir()
    (Path(graph.uri) / PLACE / "x").touch()
    assert graph.cleanup(keep=1).files > 0


def test_versions_of_dropped_commits_are_swept_without_opening_them_and_forgotten(graph: og.Graph) -> None:
    graph.cleanup()
    known = KnownVersions.load(open_store(graph.uri))
    head, dropped = graph.snapshot(), graph.snapshot(version=4)

    def pin(snapshot: og.Snapshot) -> tuple[str, str]:
        entry = snapshot.record.by_key()["node:Person"]
        return entry.location, entry.pin.path

    assert known.has(*pin(head))
    assert known.has(*pin(dropped))
    fresh = open_again(graph.uri)
    with telemetry.measure() as counts:
        done = fresh.cleanup(keep=1)
    assert counts["tables.open"] == 0
    assert done.files > 0
    known = KnownVersions.load(open_store(graph.uri))
    assert known.has(*pin(head))
    assert not known.has(*pin(dropped))
    assert open_again(graph.uri).repair().ok
    assert [item.code for item in open_again(graph.uri).repair().findings] == []


def test_a_lost_pin_stops_a_cleanup_also_when_its_version_is_known(graph: og.Graph) -> None:
    graph.cleanup()
    entry = graph.snapshot().record.by_key()["node:Person"]
    (Path(graph.uri) / entry.location / entry.pin.path).unlink()
    with pytest.raises(CorruptState, match="cannot be opened"):
        open_again(graph.uri).cleanup()


def test_a_dry_run_stores_nothing(graph: og.Graph) -> None:
    graph.cleanup(dry_run=True)
    assert not (Path(graph.uri) / PLACE).exists()


def test_dropping_one_table_for_good_forgets_nothing_of_the_others(graph: og.Graph) -> None:
    graph.cleanup()
    graph.branches.delete("dev")
    graph.schema.apply("node Person { name: String @key  note: String? }", allow_data_loss=True)
    entry = graph.snapshot().record.by_key()["node:Person"]
    assert KnownVersions.load(open_store(graph.uri)).has(entry.location, entry.pin.path)
