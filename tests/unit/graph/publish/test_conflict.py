"""Whether a plan still fits: every verdict of a pure function."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.base.errors import BranchGone, ExpectedVersionMismatch, PreconditionFailed
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, TableEntry
from omnigraph.graph.publish.conflict import (
    Conflicting,
    FilesRewritten,
    NoConflict,
    branch_gone_error,
    compare_with_head,
    precondition_error,
)
from omnigraph.graph.publish.plan import ExpectedTable, PublishPlan, WrittenTable
from omnigraph.storage.namespace import Pin

PERSON = TableEntry("node:Person", "nodes/p", Pin(5, "_pins/five"), 10, 2, "commit-p")
KNOWS = TableEntry("edge:Knows", "edges/k", Pin(7, "_pins/seven"), 20, 3, "commit-k")
HEAD = CommitRecord(
    commit="head",
    seq=9,
    branch="main",
    incarnation="one",
    parent=None,
    schema="schema-1",
    tables={"p": PERSON, "k": KNOWS},
    created_at=1,
    operation="write",
    content="content",
)
PLAN = PublishPlan(
    commit="new",
    operation_id="operation",
    branch="main",
    incarnation="one",
    base=HEAD.ref,
    expected_schema="schema-1",
    operation="write",
    commit_class=CommitClass.LOGICAL,
    reads={"p": ExpectedTable.of(PERSON), "k": ExpectedTable.of(KNOWS)},
    writes={"p": WrittenTable("node:Person", "nodes/p", Pin(6, "_pins/six"), 11, 3)},
)


def head_with(**tables: TableEntry) -> CommitRecord:
    return replace(HEAD, tables={**HEAD.tables, **tables})


def compacted(entry: TableEntry) -> TableEntry:
    return replace(entry, pin=Pin(entry.pin.version + 1, "_pins/compacted"), fragments=1)


def changed(entry: TableEntry) -> TableEntry:
    return replace(entry, pin=Pin(entry.pin.version + 1, "_pins/changed"), changed_by="another")


def error_of(plan: PublishPlan, head: CommitRecord) -> Exception:
    verdict = compare_with_head(plan, head)
    assert isinstance(verdict, Conflicting)
    return verdict.error


def test_a_plan_fits_the_head_that_it_was_made_on() -> None:
    assert compare_with_head(PLAN, HEAD) == NoConflict()


def test_a_plan_fits_a_head_that_changed_only_other_tables() -> None:
    other = replace(PERSON, key="node:City", changed_by="another")
    assert compare_with_head(PLAN, replace(head_with(c=other), commit="later", seq=10)) == NoConflict()


def test_a_plan_fits_when_a_table_that_it_only_read_was_compacted() -> None:
    assert compare_with_head(PLAN, head_with(k=compacted(KNOWS))) == NoConflict()


def test_a_plan_is_to_be_staged_again_when_a_table_that_it_writes_was_compacted() -> None:
    assert compare_with_head(PLAN, head_with(p=compacted(PERSON))) == FilesRewritten("node:Person")


@pytest.mark.parametrize(("identity", "entry"), [("p", PERSON), ("k", KNOWS)])
def test_a_change_of_a_table_that_was_read_or_written_clashes_and_names_the_versions(
    identity: str, entry: TableEntry
) -> None:
    error = error_of(PLAN, head_with(**{identity: changed(entry)}))
    assert isinstance(error, ExpectedVersionMismatch)
    assert (error.table_key, error.expected, error.actual) == (
        entry.key,
        entry.pin.version,
        entry.pin.version + 1,
    )


def test_a_change_and_a_compaction_together_clash() -> None:
    error = error_of(PLAN, head_with(p=compacted(PERSON), k=changed(KNOWS)))
    assert isinstance(error, ExpectedVersionMismatch)
    assert error.table_key == "edge:Knows"


def test_a_table_that_was_dropped_clashes() -> None:
    error = error_of(PLAN, replace(HEAD, tables={"p": PERSON}))
    assert isinstance(error, ExpectedVersionMismatch)
    assert (error.table_key, error.actual) == ("edge:Knows", None)


def test_another_schema_clashes() -> None:
    error = error_of(PLAN, replace(HEAD, schema="schema-2"))
    assert isinstance(error, ExpectedVersionMismatch)
    assert error.table_key == "schema"


def test_a_closed_branch_is_gone() -> None:
    assert isinstance(error_of(PLAN, replace(HEAD, closed=True, tables={})), BranchGone)
    assert branch_gone_error("topic").branch == "topic"


def test_a_new_table_that_stands_there_already_clashes() -> None:
    plan = replace(PLAN, writes={"k": WrittenTable("edge:Knows", "edges/k", Pin(1, "x"), 0, 0)}, reads={})
    error = error_of(plan, HEAD)
    assert isinstance(error, ExpectedVersionMismatch)
    assert (error.expected, error.actual) == (None, 7)


def test_a_new_table_that_does_not_stand_there_fits() -> None:
    plan = replace(PLAN, writes={"c": WrittenTable("node:City", "nodes/c", Pin(1, "x"), 0, 0)}, reads={})
    assert compare_with_head(plan, HEAD) == NoConflict()


@pytest.mark.parametrize("commit", ["head", "content"])
def test_a_precondition_holds_for_the_head_and_for_the_content_under_its_maintenance(commit: str) -> None:
    assert compare_with_head(replace(PLAN, if_commit=commit), HEAD) == NoConflict()
    assert precondition_error(commit, HEAD, "main") is None


def test_a_precondition_on_another_commit_fails_and_names_both() -> None:
    error = error_of(replace(PLAN, if_commit="older"), HEAD)
    assert isinstance(error, PreconditionFailed)
    assert (error.expected, error.actual) == ("older", "head")
