"""The page in a real browser: logging in, the schema, queries, history, jobs, hostile data, the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import omnigraph as og
from support.browser import OTHER_HOST, find_serious_faults, opened_page
from support.served import TOKENS, Served

TOKEN = TOKENS["act-ada"]
PAGES = (
    "schema",
    "query",
    "commits",
    "proposals",
    "compare?source=agent/enrich",
    "jobs",
    "health",
    "access",
    "entity?type=Person&id=ada",
)


@pytest.fixture
def page(served: Served, browser: Browser) -> Iterator[Page]:
    """The page, logged in; what the browser complains of fails the test."""
    with opened_page(browser, f"http://{served.address}/", token=TOKEN) as (found, faults):
        expect(found.get_by_role("link", name="people")).to_be_visible()
        yield found
        assert faults == []


def go(page: Page, served: Served, place: str) -> None:
    page.goto(f"http://{served.address}/ui/{place}")


def wait_for_all(page: Page) -> None:
    """Wait until nothing is being loaded any more."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)


def write(page: Page, text: str) -> None:
    """Replace the sample that is in the editor, once it is there."""
    expect(page.get_by_role("button", name="Explain")).to_be_enabled()
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_a_token_lets_in_stays_in_the_tab_and_is_never_in_an_address(
    served: Served, browser: Browser
) -> None:
    with opened_page(browser, f"http://{served.address}/ui/people/schema") as (page, faults):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("does not know this token")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Schema")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Schema")).to_be_visible()
        assert page.evaluate("() => [localStorage.length, sessionStorage.length]") == [0, 1]
        assert not [url for url in asked if TOKEN in url or not url.startswith(f"http://{served.address}/")]
        go(page, served, "people/query")
        expect(page.get_by_role("button", name="Explain")).to_be_enabled()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate("() => sessionStorage.length") == 0
        assert faults == []


def test_the_schema_is_a_graph_with_counts_and_rules(page: Page, served: Served) -> None:
    go(page, served, "people/schema")
    expect(page.get_by_text("5 nodes and 3 edges")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Edge type WorksAt")).press("Enter")
    about = page.get_by_label("About WorksAt")
    expect(about).to_contain_text("Person → Company")
    expect(about).to_contain_text("@card(0..1)")
    about.get_by_role("link", name="Look at some").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Rows")).to_contain_text("Acme")


def test_what_is_shown_first_reads_no_rows(page: Page, served: Served) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {urlsplit(request.url).path}"))
    go(page, served, "people")
    expect(page.get_by_text("5 nodes and 3 edges")).to_be_visible()
    wait_for_all(page)
    routes = {line for line in asked if "/assets/" not in line}
    assert {line for line in routes if "/graphs/" in line} == {
        "GET /graphs/people",
        *(f"GET /graphs/people/{facts}" for facts in ("branches", "commits", "tags", "schema", "snapshot")),
    }


def test_a_query_is_a_table_json_a_plan_and_a_picture_that_grows(page: Page, served: Served) -> None:
    go(page, served, "people/query")
    write(
        page,
        "query one($name: String) { match { $p: Person { name: $name } } return { entity($p), $p.age } }",
    )
    page.get_by_label("$name").fill("ada")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status").filter(has_text="1 row")).to_be_visible()
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_text('"title": "Engineer')).to_have_count(0)
    page.get_by_role("button", name="Picture").click()
    picture = page.get_by_role("group", name=re.compile("A graph of"))
    expect(picture.get_by_role("button")).to_have_count(1)
    picture.get_by_role("button", name=re.compile("Person ada")).click()
    expect(picture.get_by_role("button")).to_have_count(3)
    expect(page.get_by_role("complementary", name="Person ada")).to_contain_text("blob · ")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("look up $p: Person")).to_be_visible()


def test_a_picture_of_nodes_alone_has_the_edges_between_them(page: Page, served: Served) -> None:
    go(page, served, "people/query")
    write(page, "query all() { match { $p: Person  $p worksAt $c } return { entity($p), entity($c) } }")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Picture").click()
    expect(page.get_by_role("group", name=re.compile("A graph of 2 nodes and 1 edge:"))).to_be_visible()


def test_what_is_written_while_the_page_draws_what_was_there_before_stays(page: Page, served: Served) -> None:
    go(page, served, "people/query")
    write(page, "query all() { match { $p: Person } return { ")
    # Letter by letter in tasks of their own: the page draws, and tells the editor, in between.
    page.evaluate(
        """async letters => {
            const task = new MessageChannel();
            for (const letter of letters) {
                document.execCommand("insertText", false, letter);
                await new Promise(done => { task.port1.onmessage = done; task.port2.postMessage(0); });
            }
        }""",
        "$p.name, " * 40 + "$p.age } }",
    )
    expect(page.get_by_role("textbox", name="Query")).to_have_text(
        "query all() { match { $p: Person } return { " + "$p.name, " * 40 + "$p.age } }"
    )
    expect(page.get_by_role("button", name="Run")).to_be_enabled()


def test_what_is_wrong_in_a_query_is_said_and_underlined_where_it_is(page: Page, served: Served) -> None:
    go(page, served, "people/query")
    write(page, "query q() {\n  match { $p: Persn }\n  return { $p.name }\n}")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'Person'?")
    expect(page.locator(".cm-lintRange-error")).to_have_text("Persn")
    write(page, "query q($age: I64) { match { $p: Person { age: $age } } return { $p.name } }")
    page.get_by_label("$age").fill("many")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("This could not be done")
    expect(page.get_by_role("alert")).to_contain_text("$age is a whole number")


def test_words_are_completed_from_the_schema(page: Page, served: Served) -> None:
    go(page, served, "people/query")
    write(page, "query q() { match { $p: Person  $p.")
    page.keyboard.type("em")
    page.get_by_role("option", name=re.compile("embedding")).click()
    expect(page.get_by_role("textbox", name="Query")).to_contain_text("$p.embedding")


def test_an_older_state_is_looked_at_by_the_slider(page: Page, served: Served) -> None:
    go(page, served, "people/query?branch=agent/enrich")
    write(page, "query q() { match { $p: Person } return { $p.name } order { $p.name } }")
    page.get_by_role("button", name="Run").click()
    rows = page.get_by_role("region", name="Rows")
    expect(rows).to_contain_text("dan")
    slider = page.get_by_role("slider", name="Commit")
    slider.press("Home")
    slider.press("ArrowRight")
    expect(page.get_by_role("button", name="Back to now")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    expect(rows).to_contain_text("cyd")
    expect(rows).not_to_contain_text("dan")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    write(page, 'query q() { insert Person { name: "into-the-past" } }')
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("Go back to now to change something")).to_be_visible()
    assert "/graphs/people/mutate" not in asked
    found = og.open(served.url("people"), token=TOKEN).commits.list("agent/enrich")
    elsewhere = next(commit.id for commit in found if commit.message == "found dan")
    go(page, served, f"people/schema?at={elsewhere}")
    expect(page.get_by_role("group", name="What is looked at")).to_contain_text("found dan")


def test_an_entity_says_who_made_each_property_so_and_can_be_put_back(page: Page, served: Served) -> None:
    go(page, served, "people/entity?type=Person&id=bob")
    properties = page.get_by_role("region", name="Properties")
    expect(properties).to_contain_text("what bob says")
    history = page.get_by_role("region", name="History")
    history.get_by_role("button", name="What changed").first.click()
    expect(history).to_contain_text("Manager")
    page.get_by_role("button", name="Put back to this").last.click()
    page.get_by_role("button", name="Really put it back?").click()
    expect(properties.get_by_text("40")).to_be_visible()


def test_commits_of_all_branches_are_one_graph_and_can_be_reverted(page: Page, served: Served) -> None:
    go(page, served, "people/commits")
    expect(page.get_by_role("link", name="agent/rival")).to_be_visible()
    expect(page.get_by_text("task: T-7")).to_be_visible()
    page.get_by_label("New branch").fill("scratch")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("link", name="scratch")).to_be_visible()
    page.get_by_role("link", name="what ada says").click()
    expect(page.get_by_text("Chief Engineer of all")).to_be_visible()
    page.get_by_label("Branch to revert on").select_option("scratch")
    page.get_by_role("button", name="Revert on").click()
    expect(page.get_by_role("status").filter(has_text="Taken back by")).to_be_visible()


def test_a_job_is_followed_to_its_end_and_a_cleanup_is_previewed(page: Page, served: Served) -> None:
    go(page, served, "people/jobs")
    page.route("**/events", lambda route: route.fulfill(status=503, json={}), times=1)
    page.get_by_role("button", name="Optimize").click()
    expect(page.get_by_role("status").filter(has_text="succeeded")).to_be_visible()
    go(page, served, "people/health")
    company = page.get_by_role("region", name="Tables", exact=True).get_by_role("row", name="node:Company")
    expect(company).to_contain_text("id · btree")
    expect(company.locator(".good")).to_have_count(3)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("whole", exact=True)).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("would go")).to_be_visible()


def test_what_is_not_there_is_told_and_leads_on(page: Page, served: Served) -> None:
    for place, told in {
        "people/commit": "No commit is named",
        "people/proposal": "No proposal is named",
        "people/query?at=nothing": "'nothing'",
        "nothing/schema": "there is no graph 'nothing'",
    }.items():
        go(page, served, place)
        expect(page.locator("main")).to_contain_text(told)
    page.get_by_role("link", name="All graphs").click()
    expect(page.get_by_role("link", name="people")).to_be_visible()
    graph = og.open(served.url("people"), token=TOKEN)
    graph.branches.create("gone")
    done = graph.mutate('query q() { insert Company { name: "Gone" } }', branch="gone").commit_id
    graph.branches.merge("gone", delete_branch=True)
    go(page, served, f"people/commit?id={done}")
    expect(page.get_by_label("Branch to revert on")).to_have_value("main")


def test_hostile_names_and_texts_are_shown_as_they_are_and_run_nowhere(page: Page, served: Served) -> None:
    go(page, served, "hostile/query")
    write(
        page,
        "query q() { match { $p: Person $p $k:knows $q }"
        " return { entity($p), entity($k), entity($q), $q.bio } }",
    )
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Rows")).to_contain_text("<script>")
    page.get_by_role("button", name="Picture").click()
    node = page.get_by_role("group", name=re.compile("A graph of")).get_by_role("button").first
    node.click()
    expect(page.get_by_role("complementary")).to_contain_text("window.hacked")
    page.get_by_role("link", name="History and blame").click()
    expect(page.get_by_role("region", name="History")).to_contain_text("<script>")
    for place in ("commits", "compare?source=other", "schema"):
        go(page, served, f"hostile/{place}")
        wait_for_all(page)
    assert page.evaluate(
        "() => [window.hacked, document.querySelectorAll('main script, main img').length]"
    ) == [None, 0]


@pytest.mark.parametrize(
    ("width", "dark", "rules"), [(1280, False, None), (400, False, None), (400, True, ["color-contrast"])]
)
def test_no_page_has_serious_faults_for_those_who_use_it_otherwise(
    served: Served, browser: Browser, width: int, dark: bool, rules: list[str] | None
) -> None:
    with opened_page(browser, f"http://{served.address}/", width=width, dark=dark) as (page, faults):
        found = find_serious_faults(page, rules)
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("link", name="people")).to_be_visible()
        for place in PAGES:
            go(page, served, f"people/{place}")
            wait_for_all(page)
            found += find_serious_faults(page, rules)
            wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{place} is {wide} pixels too wide"
            high = page.evaluate(
                "() => Math.max(0, ...Array.from(document.querySelectorAll('.about'), e => e.offsetHeight))"
            )
            heads = page.evaluate(
                "() => Math.max(0, ...Array.from(document.querySelectorAll('th'), e => e.offsetHeight))"
            )
            assert heads <= 100, f"the words in a table of {place} are broken into letters: {heads} pixels"
            assert high <= 56, f"rows of {place} lie on each other: one is {high} pixels high"
        assert found == []
        assert faults == []


def test_everything_from_login_to_a_commit_is_done_by_keyboard_alone(
    served: Served, browser: Browser
) -> None:
    port = served.address.rpartition(":")[2]
    with opened_page(browser, f"http://{OTHER_HOST}:{port}/ui/people/schema") as (page, faults):
        expect(page.get_by_label("Token")).to_be_focused()
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Schema")).to_be_visible()
        press_until(page, "link", "Query")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Explain")).to_be_enabled()
        press_until(page, "textbox", "Query")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.press("Delete")
        page.keyboard.insert_text('query add() { insert Person { name: "by-keyboard" } }')
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/mutate", hold)
        page.keyboard.press("ControlOrMeta+Enter")
        page.keyboard.press("ControlOrMeta+Enter")
        expect(page.get_by_text("Loading the answer")).to_be_visible()
        (only,) = held
        only.continue_()
        expect(page.get_by_role("status").filter(has_text="Committed")).to_be_visible()
        assert [fault for fault in faults if "Cross-Origin-Opener-Policy" not in fault] == []


def press_until(page: Page, role: str, name: str) -> None:
    """Press Tab until something has the focus."""
    wanted = page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.evaluate("item => item.getRootNode().activeElement === item"):
            return
    raise AssertionError(f"Tab does not lead to {role} {name}")
