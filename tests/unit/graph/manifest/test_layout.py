"""Which paths are a graph's own."""

from __future__ import annotations

import pytest

from omnigraph.base.ids import new_chain_id
from omnigraph.graph.manifest import layout

CHAIN = "D1SYXK15ZRX6"
TABLE = f"nodes/{1:016x}-{2:016x}"


@pytest.mark.parametrize(
    "path",
    [
        layout.STAMP,
        layout.KNOWN_VERSIONS,
        f"{layout.CLEANUP}/clock.json",
        layout.record_path(CHAIN, 7),
        layout.hint_path(CHAIN),
        layout.floor_path(CHAIN),
        layout.condemned_path(1),
        layout.condemned_path(10**11),
        layout.fork_path(CHAIN, CHAIN),
        layout.key_path(CHAIN, "0af9" * 16),
        layout.schema_path(f"{'0af9' * 16}.{CHAIN}"),
        layout.ref_path("feature/ä.b"),
        layout.tag_path(".hidden"),
        layout.plan_path("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        f"{TABLE}/data/a.lance",
        f"{TABLE}/_indices/a/b.idx",
        f"{TABLE}/_pins/a",
    ],
)
def test_what_the_kernel_names_is_its_own(path: str) -> None:
    assert layout.is_own(path)


@pytest.mark.parametrize(
    "path",
    [
        "notes.txt",
        f"{layout.MANIFEST}/notes.txt",
        f"{layout.CHAINS}/{CHAIN}/.DS_Store",
        f"{layout.CHAINS}/{CHAIN}/7.json",
        f"{layout.CHAINS}/{CHAIN}/{7:020d}.json",
        f"{layout.CHAINS}/{CHAIN}/{1:017d}/{7:020d}.json",
        f"{layout.CHAINS}/{CHAIN} copy/{0:017d}/{7:020d}.json",
        f"{layout.record_path(CHAIN, 7)}~",
        f"{layout.ref_path('dev')}.bak",
        f"{layout.BRANCHES}/dev (1).json",
        f"{layout.TAGS}/.DS_Store",
        f"{layout.FORKS}/{CHAIN}.json",
        f"{layout.RECOVERY}/._plan.json",
        "nodes/photos/data/cat.jpg",
        f"{TABLE}/notes.txt",
        f"{TABLE}/photos/cat.jpg",
        f"{TABLE}/data",
    ],
)
def test_anything_else_is_not(path: str) -> None:
    assert not layout.is_own(path)


def test_every_new_chain_has_a_name_of_ours() -> None:
    assert all(layout.is_own(layout.floor_path(new_chain_id())) for _ in range(100))
