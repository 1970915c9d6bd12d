"""A small graph of everything that is stored, ways to damage its files, and all that can be asked of it."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.base.errors import OmniError
from omnigraph.storage.checksums.sums import Sums, sums_path

SCHEMA = """
node Doc { slug: String @key  title: String @index  rank: I32? @index  vec: Vector(4)? @index  body: Blob? }
node Tag { name: String @key  hue: I32? }
edge Links: Doc -> Doc { weight: F64? }
edge Has: Doc -> Tag
"""
BRANCH, TAG, RENAMED = "dev", "v1", "late"
CONTROL, TABLES = "__manifest", ("nodes", "edges")


def make_varied(root: Path) -> None:
    """Make a graph with updates, deletes, every kind of index, blobs, a branch, a tag and a merge."""
    graph = og.init(root, SCHEMA)
    graph.load([*_docs(0, 60), *_tags(0, 5), *_edges(0, 60)], mode="append")
    graph.optimize()
    graph.tags.create(TAG)
    graph.mutate("query q() { update Doc set { rank: 99 } where rank = 3 }")
    graph.mutate('query q() { delete Doc where slug = "d7" }')
    graph.branches.create(BRANCH)
    graph.load([*_docs(60, 80), *_tags(5, 8)], mode="append", branch=BRANCH)
    graph.mutate('query q() { update Doc set { title: "moved" } where slug = "d11" }', branch=BRANCH)
    graph.branches.create("side")
    graph.mutate('query q() { insert Tag { name: "side"  hue: 4 } }', branch="side")
    graph.mutate('query q() { delete Tag where name = "t1" }')
    graph.branches.merge("side", "main")
    graph.optimize()
    graph.mutate("query q() { update Doc set { rank: 50 } where rank = 5 }")
    graph.mutate('query q() { delete Doc where slug = "d8" }')
    graph.queries.apply({"hues": "query hues() { match { $t: Tag } return { $t.hue as h } order { h } }"})
    graph.branches.protect(BRANCH, approvals=2)
    graph.proposals.create("side", into=BRANCH, title="proposed")
    graph.branches.create("old")
    graph.mutate('query q() { insert Tag { name: "old" } }', branch="old")
    graph.branches.rename("old", RENAMED)


def _docs(first: int, end: int) -> list[dict[str, Any]]:
    chance = random.Random(first)
    return [
        {
            "type": "Doc",
            "data": {
                "slug": f"d{number}",
                "title": f"Running {'red' if number % 3 else 'blue'} boat {number}",
                "rank": number % 7,
                "vec": [chance.gauss(0, 1) for _ in range(4)],
                "body": "base64:" + base64.b64encode(chance.randbytes(_size(number))).decode(),
            },
        }
        for number in range(first, end)
    ]


def _size(number: int) -> int:
    """Return the size of a blob: the larger ones lie in a file beside the rows."""
    return 70_000 if number % 20 == 0 else 200


def _tags(first: int, end: int) -> list[dict[str, Any]]:
    return [{"type": "Tag", "data": {"name": f"t{number}", "hue": number}} for number in range(first, end)]


def _edges(first: int, end: int) -> list[dict[str, Any]]:
    links = [
        {"edge": "Links", "from": f"d{number}", "to": f"d{(number * 7 + 1) % end}", "data": {"weight": 0.5}}
        for number in range(first, end)
    ]
    return [*links, *({"edge": "Has", "from": f"d{number}", "to": f"t{number % 5}"} for number in range(end))]


QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "docs": ("query q() { match { $d: Doc } return { $d.slug, $d.title, $d.rank } order { $d.slug } }", {}),
    "tags": ("query q() { match { $t: Tag } return { $t.name, $t.hue } order { $t.name } }", {}),
    "look up": ('query q() { match { $d: Doc { slug: "d11" } } return { $d.title, $d.rank } }', {}),
    "range": (
        "query q() { match { $d: Doc  $d.rank > 40 } return { $d.slug } order { $d.slug } }",
        {},
    ),
    "walk": (
        'query q() { match { $d: Doc { slug: "d2" }  $d links{1,3} $e } return { $e.slug } order {$e.slug} }',
        {},
    ),
    "count": (
        "query q() { match { $d: Doc  $d has $t } return { $t.name, count($d) as n } order { $t.name } }",
        {},
    ),
    "words": (
        'query q() { match { $d: Doc } return { $d.slug } order { bm25($d.title, "blue boat") } limit 5 }',
        {},
    ),
    "nearest": (
        "query q($v: Vector(4)) { match { $d: Doc } return {$d.slug} order {nearest($d.vec, $v)} limit 5 }",
        {"v": [1.0, 0.5, -0.5, 0.1]},
    ),
}


def read_everything(root: str) -> dict[str, tuple[str, Any]]:
    """Ask everything of the head, a branch, a tag and old versions; each answer, or the code of its error."""
    found: dict[str, tuple[str, Any]] = {}
    try:
        graph = og.open(root, read_only=True)
        views: dict[str, Callable[[], Any]] = {
            "main": graph.snapshot,
            BRANCH: lambda: graph.snapshot(BRANCH),
            RENAMED: lambda: graph.snapshot(RENAMED),
            TAG: lambda: graph.snapshot(tag=TAG),
            **{f"version {number}": _at(graph, number) for number in (2, 4, 5)},
        }
    except OmniError as error:
        return {"opening": ("error", error.code)}
    for place, view in views.items():
        for name, ask in _questions(graph):
            found[f"{name} at {place}"] = _answered(lambda view=view, ask=ask: ask(view()))  # type: ignore[misc]
    found["stored query"] = _answered(lambda: graph.queries.show("hues").text)
    found["protection"] = _answered(lambda: repr(graph.branches.info(BRANCH).protection))
    found["proposal"] = _answered(lambda: repr(_read_proposal(graph)))
    return found


def _read_proposal(graph: Any) -> Any:
    """Return the one proposal, as it is told to those who ask for it by its id."""
    for path in (Path(graph.uri) / CONTROL / "proposals").glob("*"):
        return graph.proposals.show(path.stem)
    raise og.NotFound("the proposal is gone")


def _at(graph: Any, version: int) -> Callable[[], Any]:
    return lambda: graph.snapshot(version=version)


def _questions(graph: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    def asks(gq: str, params: dict[str, Any]) -> Callable[[Any], Any]:
        return lambda seen: list(seen.query(gq, params))

    def exported(seen: Any) -> Any:
        return sorted(repr(sorted(record.items())) for record in graph.export(snapshot=seen))

    return [*((name, asks(*query)) for name, query in QUERIES.items()), ("export", exported)]


def _answered(ask: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "answer", ask()
    except OmniError as error:
        return "error", error.code
    except BaseException as error:
        return "untyped", f"{type(error).__name__}: {error}"[:300]


def scrub(root: str) -> list[tuple[str, str]]:
    """Return what a scrub names: codes and places, or what keeps the graph from being opened at all."""
    try:
        graph = og.open(root, read_only=True)
    except OmniError as error:
        return [(error.code, str(error.details.get("path", "")))]
    return [(item.code, item.where) for item in graph.repair(scrub=True).findings]


def needed(root: Path) -> set[str]:
    """Return the files below the tables' folders that some kept commit needs."""
    graph = og.open(root, read_only=True)
    found: set[str] = set()
    for branch in graph.branches.list():
        for commit in graph.commits.list(branch):
            for entry in graph.snapshot(commit=commit.id).record.tables.values():
                beside = sums_path(entry.pin)
                sums = Sums.decode((root / entry.location / beside).read_bytes())
                found.update(f"{entry.location}/{path}" for path in (*sums.files, entry.pin.path, beside))
    return found


def control_objects(root: Path) -> set[str]:
    """Return the control objects that a reader relies on.

    Hints only make it faster, and a note of a name says all by being there.
    """
    found = (path for path in (root / CONTROL).rglob("*") if path.is_file())
    return {str(path.relative_to(root)) for path in found if not {"hints", "names"} & set(path.parts)}


def damage(chance: random.Random, root: Path, *kinds: str) -> tuple[str, list[str]]:
    """Damage a file below some folders in one random way; return how, and which are not as they were."""
    files = sorted(path for kind in kinds for path in (root / kind).rglob("*") if path.is_file())
    # Otherwise most damage would fall on the many small transactions, manifests and records.
    depth = 1 if kinds == (CONTROL,) else 2
    folders = sorted({path.relative_to(root).parts[depth] for path in files})
    folder = chance.choice(folders)
    path = chance.choice([item for item in files if item.relative_to(root).parts[depth] == folder])
    before = path.read_bytes()
    kind = chance.choice([name for name in KINDS if before or name == "append"])
    touched = [path]
    if kind == "swap":
        others = [item for item in files if item != path and item.read_bytes() != before]
        other = chance.choice([item for item in others if item.suffix == path.suffix] or others)
        held = other.read_bytes()
        other.write_bytes(before)
        path.write_bytes(held)
        touched.append(other)
    else:
        after = KINDS[kind](chance, before)
        if after is None:
            path.unlink()
        elif after == before:
            touched = []
        else:
            path.write_bytes(after)
    return kind, [str(item.relative_to(root)) for item in touched]


def _flip(chance: random.Random, data: bytes) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def _zero(chance: random.Random, data: bytes) -> bytes:
    begin = chance.randrange(len(data))
    end = min(len(data), begin + chance.choice([16, 64, 512, 4096]))
    return data[:begin] + bytes(end - begin) + data[end:]


KINDS: dict[str, Callable[[random.Random, bytes], bytes | None]] = {
    "flip": _flip,
    "truncate": lambda chance, data: data[: chance.randrange(len(data))],
    "zero": _zero,
    "swap": lambda chance, data: data,
    "delete": lambda chance, data: None,
    "append": lambda chance, data: data + chance.randbytes(chance.choice([1, 16, 5000])),
}
