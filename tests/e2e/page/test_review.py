"""The page in a real browser: comparing, proposing, commenting, settling conflicts, merging, taking back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import omnigraph as og
from support.browser import find_serious_faults, opened_page
from support.served import TOKENS, Served


@pytest.fixture
def page(served: Served, browser: Browser) -> Iterator[Page]:
    """The page, logged in; what the browser complains of fails the test."""
    with opened_page(browser, f"http://{served.address}/", token=TOKENS["act-ada"]) as (found, faults):
        expect(found.get_by_role("link", name="people")).to_be_visible()
        yield found
        assert faults == []


@pytest.fixture
def phone(served: Served, browser: Browser) -> Iterator[Page]:
    """The page on a telephone in the dark, logged in."""
    address = f"http://{served.address}/"
    with opened_page(browser, address, width=400, dark=True, token=TOKENS["act-ada"]) as (found, faults):
        expect(found.get_by_role("link", name="people")).to_be_visible()
        yield found
        assert faults == []


def go(page: Page, served: Served, place: str) -> None:
    page.goto(f"http://{served.address}/ui/people/{place}")


def test_a_branch_is_proposed_reviewed_by_another_settled_merged_and_taken_back(
    page: Page, served: Served, browser: Browser
) -> None:
    go(page, served, "compare?source=agent/enrich")
    expect(page.get_by_role("status").filter(has_text="1 conflict to settle")).to_be_visible()
    page.get_by_label("Message").fill("What the directory says")
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", name="What the directory says")).to_be_visible()
    proposal = page.url

    with opened_page(browser, proposal, token=TOKENS["agent-7"]) as (other, faults):
        picture = other.get_by_role("group", name=re.compile("A graph of 5 nodes"))
        expect(picture.get_by_role("button", name="Person dan, added")).to_be_visible()
        expect(picture.get_by_role("button", name="Person cyd, removed")).to_be_visible()
        expect(picture.get_by_role("button", name="Company Acme")).to_be_visible()
        expect(other.locator("ins")).to_contain_text("all of")
        expect(other.get_by_text("moved by 0.0061")).to_be_visible()
        change = other.locator('[id="change-node:Person:cyd"]')
        change.get_by_role("button", name="Comment").click()
        change.get_by_label("Comment on cyd").fill("Is it really a duplicate?\n<b>Who says so?</b>")
        change.get_by_label("About a property").select_option("age")
        change.get_by_role("button", name="Say it").click()
        expect(change.locator(".comment")).to_contain_text("<b>Who says so?</b>")
        other.get_by_role("button", name="Approve").click()
        expect(other.get_by_role("alert")).to_contain_text("nobody approves what they have")
        assert find_serious_faults(other) == []
        assert faults == []

    conflict = page.locator("details.conflict")
    conflict.get_by_role("radio", name="age: theirs").check()
    page.get_by_role("button", name="Save 1 answer").click()
    expect(page.get_by_role("status").filter(has_text="This can be merged")).to_be_visible()
    expect(page.locator(".comment")).to_contain_text("Is it really a duplicate?")
    page.get_by_label("What you say to it").fill("as the directory has it")
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    page.get_by_text("Merged as").get_by_role("link").click()
    expect(page.get_by_role("heading", name="as the directory has it")).to_be_visible()
    page.get_by_role("button", name="Revert on").click()
    expect(page.get_by_role("status").filter(has_text="Taken back by")).to_be_visible()
    go(page, served, "proposals?state=merged")
    expect(page.get_by_role("link", name="What the directory says")).to_be_visible()
    expect(page.get_by_role("button", name="Merged 1")).to_be_visible()
    expect(page.get_by_role("button", name="Closed 0")).to_be_visible()


def test_conflicts_are_settled_in_part_taken_up_again_by_rule_and_by_hand(
    phone: Page, served: Served
) -> None:
    go(phone, served, "compare?source=agent/rival")
    phone.get_by_label("Message").fill("What the web says")
    phone.get_by_role("button", name="Propose").click()
    conflicts = phone.locator("details.conflict")
    expect(conflicts).to_have_count(2)
    expect(phone.get_by_role("heading", name="What the web says")).to_be_visible()
    expect(phone.locator(".drawing .label").first).to_be_visible()
    label = phone.locator(".drawing .label").first.bounding_box()
    assert label is not None and label["height"] > 10, "letters of a picture are as large as others"
    ada = conflicts.filter(has=phone.get_by_text("ada", exact=True))
    ada.get_by_role("radio", name="title: theirs").check()
    ada.get_by_label("Value of age").fill("39")
    ada.get_by_label("Value of age").press("Enter")
    expect(ada.get_by_text("settled", exact=True)).to_be_visible()
    ada.get_by_role("button", name="Preview the result").click()
    expect(ada.get_by_label("Preview")).to_contain_text('"age": 39')
    phone.get_by_role("button", name="Save 1 answer").click()
    expect(conflicts).to_have_count(1)

    phone.reload()
    expect(phone.get_by_text("1 saved answer")).to_be_visible()
    phone.get_by_text("1 saved answer").click()
    phone.get_by_role("button", name="Take back").click()
    expect(conflicts).to_have_count(2)
    rule = phone.get_by_role("form", name="A rule for many conflicts")
    rule.get_by_label("Side").select_option("ours")
    rule.get_by_role("button", name="Apply").click()
    expect(rule.get_by_role("status")).to_have_text("2 conflicts answered.")
    phone.get_by_role("button", name="Save 2 answers").click()
    expect(phone.get_by_role("status").filter(has_text="This can be merged")).to_be_visible()
    phone.get_by_role("button", name="Close", exact=True).click()
    expect(phone.get_by_role("button", name="Reopen")).to_be_visible()


def test_answers_of_a_comparison_are_tried_and_merged_without_a_proposal(page: Page, served: Served) -> None:
    go(page, served, "compare?source=agent/rival")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("status").filter(has_text="All conflicts are settled")).to_be_visible()
    page.reload()
    expect(page.get_by_role("status").filter(has_text="All conflicts are settled")).to_be_visible()
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("status").filter(has_text="It would work")).to_be_visible()
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged into")).to_be_visible()


def test_what_the_graph_itself_refuses_comes_up_is_drawn_and_settled(page: Page, served: Served) -> None:
    graph = og.open(served.url("people"), token=TOKENS["act-ada"])
    people = [{"type": "Person", "data": {"name": name}} for name in ("eve", "fay")]
    firms = [{"type": "Company", "data": {"name": name}} for name in ("Left", "Right", "Gone")]
    graph.load([*people, *firms], mode="append")
    graph.branches.create("agent/jobs")
    job = (
        "query q($who: String, $where: String, $age: I64) {"
        " update Person set { age: $age } where name = $who  insert WorksAt { from: $who, to: $where } }"
    )
    graph.mutate(job, {"who": "eve", "where": "Left", "age": 1})
    graph.mutate('query q() { delete Company where name = "Gone" }')
    graph.mutate(job, {"who": "eve", "where": "Right", "age": 2}, branch="agent/jobs")
    graph.mutate(job, {"who": "fay", "where": "Gone", "age": 3}, branch="agent/jobs")
    go(page, served, "compare?source=agent/jobs")
    page.get_by_role("button", name="Take theirs").click()
    page.get_by_role("button", name="Try").click()
    conflicts = page.locator("details.conflict")
    expect(conflicts).to_have_count(3)
    many = conflicts.filter(has_text="CardinalityViolation")
    expect(many.get_by_role("group", name=re.compile("A graph of"))).to_contain_text("Left")
    expect(conflicts.last).to_contain_text("settled")
    many.get_by_label(re.compile("eve → Right theirs")).check()
    orphan = conflicts.filter(has_text="OrphanEdge")
    orphan.get_by_role("button", name="Keep Company Gone").click()
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("status").filter(has_text="It would work")).to_be_visible()
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged into")).to_be_visible()
    found = graph.query("query q() { match { $p: Person  $p worksAt $c } return { $p.name, $c.name } }").rows
    assert {"p.name": "eve", "c.name": "Left"} in found and {"p.name": "fay", "c.name": "Gone"} in found


def test_a_protected_branch_says_why_it_is_not_merged_into(page: Page, served: Served) -> None:
    go(page, served, "access")
    expect(page.get_by_text("A policy says who may do what.")).to_be_visible()
    mine = page.get_by_role("region", name="What you may do").get_by_role("row", name=re.compile("^approve"))
    expect(mine.get_by_text("yes").first).to_be_visible()
    expect(page.get_by_role("region", name="What others may do")).to_contain_text("agent-7")
    page.get_by_role("button", name="Protect", exact=True).first.click()
    expect(page.get_by_text("protected: 1 approval")).to_be_visible()
    go(page, served, "query")
    expect(page.get_by_role("button", name="Explain")).to_be_enabled()
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text('query q() { insert Person { name: "eve" } }')
    page.get_by_role("button", name="Commit to main").click()
    expect(page.get_by_role("alert")).to_contain_text("branch_protected")
    go(page, served, "access")
    page.get_by_role("button", name="Unprotect").click()
    expect(page.get_by_text("protected: 1 approval")).to_have_count(0)


def test_two_nodes_that_may_be_one_thing_are_made_one(page: Page, served: Served) -> None:
    graph = og.open(served.url("people"), token=TOKENS["agent-7"])
    graph.branches.create("agent/twins")
    twins = [{"type": "Person", "data": {"name": name, "title": "Twin"}} for name in ("zoe", "zoë")]
    graph.load(twins, mode="append", branch="agent/twins")
    go(page, served, "compare?source=agent/twins")
    expect(page.get_by_role("status").filter(has_text="This can be merged")).to_be_visible()
    page.get_by_text("Duplicates").click()
    rule = page.get_by_role("form", name="A rule that finds duplicates")
    rule.get_by_role("combobox").select_option("Person")
    rule.get_by_label("title").check()
    rule.get_by_role("button", name="Ask").click()
    conflict = page.locator("details.conflict")
    expect(conflict).to_contain_text("PossibleDuplicate")
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Compare")
    expect(conflict).to_contain_text("PossibleDuplicate")
    conflict.get_by_role("button", name="They are one thing").click()
    page.get_by_role("button", name="Save 1 answer").click()
    expect(page.get_by_role("status").filter(has_text="This can be merged")).to_be_visible()
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged as")).to_be_visible()
    found = graph.query('query q() { match { $p: Person { title: "Twin" } } return { $p.name } }')
    assert len(found.rows) == 1


def test_what_was_not_looked_at_is_not_merged_and_nothing_written_is_lost(page: Page, served: Served) -> None:
    graph = og.open(served.url("people"), token=TOKENS["agent-7"])
    graph.branches.create("agent/firms")
    firm = "query q($n: String) { insert Company { name: $n } }"
    graph.mutate(firm, {"n": "Hooli"}, branch="agent/firms")
    proposal = graph.proposals.create("agent/firms", title="Firms")
    page.clock.install()
    go(page, served, f"proposal?id={proposal.id}")
    box = page.get_by_role("region", name="Merge")
    said = box.get_by_role("status")
    expect(said).to_have_text("This can be merged")
    draft = page.get_by_label("Comment", exact=True)
    draft.fill("Who is that?")

    graph.proposals.comment(proposal.id, "There are more.")
    graph.mutate(firm, {"n": "Pied Piper"}, branch="agent/firms")
    box.get_by_role("button", name="Merge").click()
    expect(box.get_by_role("alert")).to_contain_text("look again")
    moved = page.get_by_role("status").filter(has_text="says something else by now")
    expect(moved).to_be_visible()
    expect(page.locator(".comment")).to_contain_text("There are more.")
    expect(page.get_by_role("heading", name="1 change", exact=True)).to_be_visible()

    page.route("**/mergeable", lambda route: route.fulfill(status=503, json={}))
    page.clock.run_for(6_000)
    expect(said).to_have_text("It is not known whether this can be merged")
    page.unroute("**/mergeable")
    refused = {"error": "who?", "code": "unauthorized"}
    page.route("**/proposals/**", lambda route: route.fulfill(status=401, json=refused))
    page.clock.run_for(6_000)
    again = page.get_by_role("dialog", name="Log in again")
    again.get_by_label("Token").fill(TOKENS["act-ada"])
    page.unroute("**/proposals/**")
    again.get_by_role("button", name="Log in").click()
    expect(again).to_have_count(0)

    moved.get_by_role("button", name="Show what it says now").click()
    expect(page.get_by_role("heading", name="2 changes")).to_be_visible()
    expect(draft).to_have_value("Who is that?")
    expect(said).to_have_text("This can be merged")
    box.get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged as")).to_be_visible()
