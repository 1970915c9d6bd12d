"""Files of tasks are joined where they are small, in their order."""

from __future__ import annotations

from lance.fragment import DataFile, FragmentMetadata

from omnigraph.pipeline.steps.group_files import group_small_files
from omnigraph.storage.tables.staging import StagedFragments

MIB = 2**20


def fragment_of(size: int) -> FragmentMetadata:
    file = DataFile("a.lance", [0], [0], 2, 0, file_size_bytes=size)
    return FragmentMetadata(0, [file], 10)


def groups_of(*sizes: int) -> list[list[int]]:
    parts = [StagedFragments((fragment_of(size),), 10) for size in sizes]
    return [[part.size_bytes for part in group] for group in group_small_files(parts)]


def test_small_files_are_joined_and_large_ones_stand_alone() -> None:
    assert groups_of(1, 2, 3) == [[1, 2, 3]]
    assert groups_of(1, 40 * MIB, 2, 3) == [[1], [40 * MIB], [2, 3]]
    assert groups_of() == []


def test_a_joined_file_has_a_size_like_others_and_one_process_writes_so_much_at_most() -> None:
    found = groups_of(*[15 * MIB] * 100)
    assert [len(group) for group in found[:7]] == [9] * 7
    assert sum(map(sum, (group for group in found if len(group) > 1))) <= 1024 * MIB
    assert sum(map(len, found)) == 100
