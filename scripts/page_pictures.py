"""Take the pictures of the page that docs/images holds, of a small graph, in Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import opened_page, running_browser  # noqa: E402
from support.page_graph import make_page_graph  # noqa: E402
from support.served import TOKENS, running_server  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Serve the graph, log in, and take each picture."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph = make_page_graph(folder / "people")
        why = "Ages and texts as the directory of Acme has them."
        proposal = graph.proposals.create("agent/enrich", title="What the directory says", description=why)
        graph.proposals.comment(proposal.id, "Is it really a duplicate?", entity=("Person", "cyd"))
        places = {
            "review": f"proposal?id={proposal.id}",
            "conflicts": "compare?source=agent/rival",
            "schema": "schema",
            "commits": "commits",
            "entity": "entity?type=Person&id=ada",
        }
        arguments = [f"--graph=people={folder / 'people'}", f"--state={folder / 'state'}"]
        with running_server(folder, *arguments) as server, running_browser() as browser:
            start = f"http://{server.address}"
            with opened_page(browser, f"{start}/", token=TOKENS["act-ada"]) as (page, _):
                page.get_by_role("button", name="Log out").wait_for()
                for picture, place in places.items():
                    page.goto(f"{start}/ui/people/{place}")
                    take_picture(page, IMAGES / f"page-{picture}.png")


def take_picture(page: Page, path: Path) -> None:
    """Take a picture of what stands on the page once all is there."""
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2_000)
    height = min(page.evaluate("() => document.documentElement.scrollHeight"), 1_800)
    page.set_viewport_size({"width": 1280, "height": height})
    page.wait_for_timeout(500)
    page.screenshot(path=path)
    page.set_viewport_size({"width": 1280, "height": 860})


if __name__ == "__main__":
    main()
