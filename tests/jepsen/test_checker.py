"""The checker finds every kind of anomaly, each planted once in a history in which all else went well."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from jepsen.checker import EXPECTED, RULES, SILENCE_SECONDS, check
from jepsen.content import digest_of, masks_of, problems_of
from jepsen.history import BROKEN, FAIL, OK, UNKNOWN, Op, paired
from jepsen.model import Model
from jepsen.nemesis import KILL, STOP, plan_faults
from jepsen.story import Story, content_of, summary
from jepsen.workloads import FOCUSES, choose


def kinds(story: Story) -> set[str]:
    return {anomaly.kind for anomaly in check(story.history, story.observed)}


def whole() -> Story:
    """Return a run with a bit of everything, in which all went well."""
    story = Story()
    first = story.write()
    story.write(outcome=FAIL)
    lost = story.write(outcome=UNKNOWN)
    story.read([first.name], 5)
    story.main.append(lost.name)  # its client was killed, and it happened
    story.read([first.name, lost.name], 6)
    person = story.write("person")
    story.main.remove(person.name)
    story.do("delete_person", OK, {"affected": 1}, person=person.name)
    story.do("create_branch", name="b1", origin="main")
    on_branch = story.write(branch="b1", kind="append")
    story.do("merge", OK, {"deleted": False, "commit": "M"}, name="b1", delete=False)
    story.main.append(on_branch.name)
    story.do("tag", OK, {"commit": "T1"}, tag="t1", commit=None)
    story.tags["t1"] = "T1"
    story.do("schema", OK, {"applied": True}, schema="extra", with_loss=False)
    story.do("schema", OK, {"applied": True}, schema="plain", with_loss=False)
    story.do("cleanup", OK, {}, keep=None, age=None)
    return story


def test_a_run_in_which_all_went_well_has_no_anomaly() -> None:
    assert check(whole().history, whole().observed) == []


CASES: dict[str, tuple[str, Callable[[Story], object]]] = {}


def case(kind: str) -> Callable[[Callable[[Story], object]], Callable[[Story], object]]:
    """Register a function that plants an anomaly of a kind."""

    def register(plant: Callable[[Story], object]) -> Callable[[Story], object]:
        CASES[plant.__name__] = (kind, plant)
        return plant

    return register


@case("lost")
def an_acknowledged_write_is_gone(story: Story) -> None:
    story.main.remove(story.write().name)


@case("lost")
def a_read_lacks_what_was_acknowledged_before_it(story: Story) -> None:
    story.write()
    story.read(["c0g0-0", "c0g0-2"], 7)


@case("lost")
def a_read_lacks_what_an_earlier_read_saw(story: Story) -> None:
    unknown = story.write(outcome=UNKNOWN)
    story.read([*story.main, unknown.name], 7)
    story.read(story.main, 8)


@case("lost")
def a_merged_write_is_not_on_main(story: Story) -> None:
    story.write(branch="b1")
    story.do("merge", OK, {"deleted": False}, name="b1", delete=False)


@case("lost")
def a_write_is_gone_from_its_branch(story: Story) -> None:
    story.branches["b1"].remove(story.write(branch="b1").name)


@case("lost")
def a_read_of_a_branch_lacks_what_was_acknowledged_there(story: Story) -> None:
    story.do("read", OK, summary([], "B", 5, "b1"), branch="b1")


@case("lost")
def an_acknowledged_commit_is_not_in_the_history(story: Story) -> None:
    head, *rest = story.observed["history"]["main"]
    story.changes["history"] = {"main": [{**head, "commit": "X", "message": None}, *rest]}


@case("lost")
def the_last_write_is_not_there(story: Story) -> None:
    story.changes["last_writes"] = 0


@case("ghost")
def a_failed_write_is_there(story: Story) -> None:
    story.main.append(story.write(outcome=FAIL).name)


@case("ghost")
def a_failed_write_is_read(story: Story) -> None:
    failed = story.write(outcome=FAIL)
    story.read([*story.main, failed.name], 7)


@case("ghost")
def a_failed_tag_is_there(story: Story) -> None:
    story.do("tag", FAIL, {"code": "contention"}, tag="t2", commit=None)
    story.tags["t2"] = "T2"


@case("ghost")
def a_failed_write_is_a_commit(story: Story) -> None:
    failed = story.write(outcome=FAIL)
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [*history, {**history[0], "commit": "G", "message": failed.name}]}


@case("phantom")
def a_write_that_nobody_made_is_there(story: Story) -> None:
    story.main.append("c7g7-7")


@case("phantom")
def a_write_of_a_branch_is_on_main_without_a_merge(story: Story) -> None:
    story.do("create_branch", name="b2", origin="main")
    story.main.append(story.write(branch="b2").name)


@case("phantom")
def a_branch_exists_that_nobody_made(story: Story) -> None:
    story.branches["b9"] = []


@case("doubled")
def a_write_is_two_commits(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [*history, {**history[0], "commit": "D", "version": 999}]}


@case("doubled")
def a_plan_is_settled_twice(story: Story) -> None:
    one, other, *rest = story.observed["history"]["main"]
    story.changes["history"] = {"main": [{**one, "notes": ["P"]}, {**other, "notes": ["P"]}, *rest]}


@case("doubled")
def a_row_is_read_twice(story: Story) -> None:
    read = story.read(story.main, 7)
    read.answer["problems"].append("doubled: Token x stands 2 times")


@case("moved_commit")
def a_write_is_another_commit_than_it_was_told(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [{**history[0], "commit": "X"}, *history[1:]]}


@case("moved_commit")
def a_key_is_told_two_commits(story: Story) -> None:
    op = story.write(keyed=True, of="c0g0-16")
    story.do("again", OK, {"commit": "X"}, of=op.name, keyed=True)
    story.do("again", OK, {"commit": "Y"}, of=op.name, keyed=True)


@case("ghost")
def a_write_is_there_of_which_all_tries_failed(story: Story) -> None:
    op = story.write(outcome=FAIL)
    story.do("again", FAIL, {"code": "contention"}, of=op.name, keyed=True)
    story.main.append(op.name)


@case("lost")
def a_write_is_gone_of_which_the_second_try_went_well(story: Story) -> None:
    op = story.write(outcome=UNKNOWN)
    story.do("again", OK, {"commit": "W"}, of=op.name, keyed=True)


@case("changed_commit")
def a_commit_says_something_else_when_it_is_read_again(story: Story) -> None:
    story.do("travel", OK, summary(story.main, "R5", 5, digest="another"), commit="R5")


@case("time_travel")
def a_later_read_sees_an_earlier_version(story: Story) -> None:
    story.read(story.main, 20)
    story.read(story.main, 19)


@case("fork")
def a_version_is_two_commits(story: Story) -> None:
    story.do("read", OK, summary(story.main, "R30", 30))
    story.do("read", OK, summary(story.main, "R31", 30))


@case("fork")
def a_version_of_the_history_is_two_commits(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [*history, {**history[0], "commit": "F"}]}


@case("gap")
def a_commit_has_lost_its_parent(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [history[0], *history[2:]]}


@case("gap")
def versions_jump(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [{**history[0], "version": 77}, *history[1:]]}


@case("gap")
def a_commit_is_older_than_its_parent(story: Story) -> None:
    history = story.observed["history"]["main"]
    story.changes["history"] = {"main": [{**history[0], "at": -1.0}, *history[1:]]}


@case("undeleted")
def a_deleted_person_is_there(story: Story) -> None:
    person = story.write("person")
    story.do("delete_person", OK, {"affected": 1}, person=person.name)


@case("undeleted")
def a_deleted_branch_is_there(story: Story) -> None:
    story.do("delete_branch", name="b1")


@case("undeleted")
def a_tag_that_was_taken_back_is_there(story: Story) -> None:
    story.do("untag", tag="t1")


@case("orphan")
def an_edge_is_acknowledged_after_its_end_was_deleted(story: Story) -> None:
    person = story.write("person")
    story.main.remove(person.name)
    story.do("delete_person", OK, {"affected": 1}, person=person.name)
    story.main.remove(story.write("edge", source=person.name, target=person.name).name)


@case("lost_branch")
def a_branch_is_gone(story: Story) -> None:
    story.do("create_branch", name="b2", origin="main")


@case("orphan_branch")
def a_branch_is_made_while_its_parent_is_deleted(story: Story) -> None:
    made = story.do("create_branch", name="b2", origin="b1")
    story.do("delete_branch", at=made.began + 0.1, name="b1")
    story.branches["b2"] = story.branches.pop("b1")


@case("lost_tag")
def a_tag_is_gone(story: Story) -> None:
    story.do("tag", OK, {"commit": "T2"}, tag="t2", commit=None)


@case("lost_tag")
def a_tagged_commit_cannot_be_read(story: Story) -> None:
    story.do("travel", FAIL, {"code": "historical_version_reclaimed"}, tag="t1")


@case("moved_tag")
def a_tag_names_another_commit(story: Story) -> None:
    story.tags["t1"] = "T9"


@case("moved_tag")
def a_tag_is_read_as_another_commit(story: Story) -> None:
    story.do("travel", OK, summary([], "T9"), tag="t1")


@case("schema")
def a_schema_change_is_lost(story: Story) -> None:
    story.do("schema", OK, {"applied": True}, schema="extra", with_loss=False)


@case("schema")
def a_read_sees_a_schema_that_was_changed_before(story: Story) -> None:
    story.do("schema", OK, {"applied": True}, schema="extra", with_loss=False)
    story.read(story.main, 7)
    story.do("schema", OK, {"applied": True}, schema="plain", with_loss=False)


@case("corrupt_state")
def a_client_meets_damage(story: Story) -> None:
    story.do("append", BROKEN, {"code": "corrupt_state"})


@case("untyped_error")
def a_client_meets_an_exception_without_a_type(story: Story) -> None:
    story.do("append", BROKEN, {"code": "RuntimeError"})


@case("unexpected_error")
def a_client_is_refused_for_no_reason(story: Story) -> None:
    story.do("append", FAIL, {"code": "not_found"})


@case("unexpected_error")
def a_cleanup_cannot_sweep_a_table(story: Story) -> None:
    story.do("cleanup", OK, {"errors": {"node:Token": "a file is gone"}}, keep=None, age=None)


@case("died")
def a_client_dies_by_itself(story: Story) -> None:
    story.faults.append({"is": "died", "client": "c0g0", "code": -6})


@case("hung")
def a_client_does_not_end(story: Story) -> None:
    story.faults.append({"is": "hung", "client": "c0g0"})


@case("silence")
def nobody_is_answered_for_long(story: Story) -> None:
    story.write(at=story.ops[-1].ended + SILENCE_SECONDS + 1)


@case("unusable")
def the_graph_does_not_open(story: Story) -> None:
    story.changes["errors"] = [{"stage": "open", "code": "corrupt_state", "message": "a hole"}]


@case("damage")
def repair_tells_damage(story: Story) -> None:
    story.changes["damage"] = ["record_missing chains/x/3.json: it is gone"]


@case("changed_by_cleanup")
def a_cleanup_changes_what_is_there(story: Story) -> None:
    cleaned = {"branches": {"main": {**story.observed["settled"]["branches"]["main"], "digest": "other"}}}
    story.changes["cleaned"] = {**cleaned, "tags": story.observed["settled"]["tags"]}


@case("leftovers")
def cleanups_leave_files(story: Story) -> None:
    story.changes["files_left"] = 22_052


@pytest.mark.parametrize("name", CASES)
def test_the_checker_finds(name: str) -> None:
    kind, plant = CASES[name]
    story = whole()
    plant(story)
    assert kind in kinds(story)


def test_every_rule_of_the_checker_finds_something() -> None:
    found: set[str] = set()
    for _, plant in CASES.values():
        story = whole()
        plant(story)
        for rule in RULES:
            if any(rule(Model(story.history), story.observed)):
                found.add(rule.__name__)
    assert found == {rule.__name__ for rule in RULES}


def edge(source: str, target: str, token: str) -> dict[str, Any]:
    return {"id": token, "src": source, "dst": target, "token": token}


def test_a_snapshot_is_wrong_by_itself_when_rows_are_torn_doubled_or_against_the_rules() -> None:
    person, token = {"id": "p", "token": "p"}, {"id": "1", "token": "c-1"}
    moved = {"id": "1", "token": "c-1", "source": "account-0", "target": "account-1", "amount": 5}
    slots = [{"id": str(n), "token": f"c-{n}", "slot": "s", "name": "s"} for n in range(2)]
    items = [{"id": str(n), "token": "c-3", "n": n, "of": 2} for n in range(2)]
    wrong = {
        "torn: Token": content_of({"Token": 2}, Token=[token]),
        "doubled: id": content_of(Token=[token, token]),
        "doubled: Token": content_of(Token=[token, {**token, "id": "2"}]),
        "doubled: load": content_of(Item=[*items, *[{**item, "id": f"x{item['n']}"} for item in items]]),
        "torn: load": content_of(Item=items[:1]),
        "bank: the total": content_of(Account=[{"id": "account-0", "name": "account-0", "balance": 7}]),
        "bank: the balances": content_of(Transfer=[moved]),
        "unique: Claim.slot": content_of(Claim=slots),
        "unique: Ticket.name": content_of(Ticket=slots),
        "orphan: edge": content_of(Person=[person], Knows=[edge("p", "gone", "c-4")]),
        "cardinality: p": content_of(Person=[person], Knows=[edge("p", "p", f"c-{n}") for n in range(4)]),
    }
    for problem, content in wrong.items():
        assert any(found.startswith(problem) for found in problems_of(content)), problem
    right = content_of(Person=[person], Token=[token], Item=items, Knows=[edge("p", "p", "c-4")])
    assert list(problems_of(right)) == []
    assert masks_of(content_of(Token=[token], Item=items)) == {"c": 0b1010}
    assert digest_of(content_of(Token=[token])) != digest_of(content_of())


def test_an_operation_without_an_answer_may_or_may_not_have_happened() -> None:
    lines = [
        {"at": 1.0, "op": 0, "is": "invoke", "kind": "append", "facts": {}},
        {"at": 2.0, "op": 0, "is": "ok", "answer": {"commit": "C"}},
        {"at": 3.0, "op": 1, "is": "invoke", "kind": "append", "facts": {}},
    ]
    assert paired("c0g0", lines) == [
        Op("c0g0", 0, "append", {}, 1.0, 2.0, OK, {"commit": "C"}),
        Op("c0g0", 1, "append", {}, 3.0),
    ]
    for happened in (False, True):
        story = whole()
        unknown = story.write(outcome=UNKNOWN)
        if happened:
            story.main.append(unknown.name)
        assert kinds(story) == set()


def test_a_load_into_a_branch_that_was_there_does_not_make_it_the_child_of_another() -> None:
    story = whole()
    story.do("create_branch", name="b2", origin="main")
    story.branches["b2"] = []
    story.write("load", branch="b2", rows=1, origin="b1")
    story.do("delete_branch", name="b1")
    del story.branches["b1"]
    assert kinds(story) == set()


def test_a_branch_without_commits_of_its_own_may_be_deleted_under_what_was_forked_from_it() -> None:
    story = whole()
    story.do("create_branch", name="b2", origin="main")
    story.do("create_branch", name="b3", origin="b2")
    story.do("delete_branch", name="b2")
    story.branches["b3"] = []
    assert kinds(story) == set()


def test_the_same_seed_plans_the_same_faults_and_some_stops_outlast_a_lease() -> None:
    faults = plan_faults(7, 60, 4, turn=0.3, lease=1.0)
    assert faults == plan_faults(7, 60, 4, turn=0.3, lease=1.0) != plan_faults(8, 60, 4, turn=0.3, lease=1.0)
    assert {fault.kind for fault in faults} == {KILL, STOP}
    assert {fault.slot for fault in faults} == set(range(4))
    assert any(fault.seconds > 1.0 for fault in faults)


def test_every_operation_has_its_expected_errors() -> None:
    dice = random.Random(1)
    chosen = {choose(dice, focus).__name__ for focus in FOCUSES for _ in range(1000)}
    names = {"change_schema": "schema", "reopen": "open", "branch": "create_branch"}
    assert {names.get(name, name) for name in chosen} <= set(EXPECTED)
