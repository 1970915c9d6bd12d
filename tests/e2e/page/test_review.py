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
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged as")).to_be_visible()
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
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged into")).to_be_visible()


def test_a_protected_branch_says_why_it_is_not_merged_into(page: Page, served: Served) -> None:
    go(page, served, "access")
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
    rule = {"type": "Person", "on": ["title"]}
    proposal = graph.proposals.create("agent/twins", title="Twins", same_as=rule)
    go(page, served, f"proposal?id={proposal.id}")
    conflict = page.locator("details.conflict")
    expect(conflict).to_contain_text("PossibleDuplicate")
    conflict.get_by_role("button", name="They are one thing").click()
    page.get_by_role("button", name="Save 1 answer").click()
    expect(page.get_by_role("status").filter(has_text="This can be merged")).to_be_visible()
    page.get_by_role("region", name="Merge").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged as")).to_be_visible()
    found = graph.query('query q() { match { $p: Person { title: "Twin" } } return { $p.name } }')
    assert len(found.rows) == 1
