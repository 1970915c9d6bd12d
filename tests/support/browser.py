"""A real browser, for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

OTHER_HOST = "graphs.test"
"""A name that browsers do not trust as they trust this machine, as that of a server in a network."""
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    f"--host-resolver-rules=MAP {OTHER_HOST} 127.0.0.1",
)
WAIT_MILLISECONDS = 20_000
expect.set_options(timeout=WAIT_MILLISECONDS)
AXE = Path(__file__).resolve().parents[2] / "webui" / "vendor" / "axe.min.js"


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start Chromium as the system has it: nothing is downloaded."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path is not None, "there is no chromium: run `make setup`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_page(
    browser: Browser, address: str, *, width: int = 1280, dark: bool = False, token: str | None = None
) -> Iterator[tuple[Page, list[str]]]:
    """Open the page in a window of its own; what it complains of is in the list."""
    context = browser.new_context(
        viewport={"width": width, "height": 860}, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(WAIT_MILLISECONDS)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: _note(said.type, said.text, faults))
    try:
        page.goto(address)
        if token is not None:
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Log in").click()
        yield page, faults
    finally:
        context.close()


def _note(kind: str, text: str, faults: list[str]) -> None:
    # What the server refuses, the browser notes too; the page tells it where it belongs.
    if kind in ("error", "warning") and "the server responded with a status of" not in text:
        faults.append(text)


def find_serious_faults(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return what axe, or some of its rules, finds to be serious or critical on what is shown."""
    # The rules of the page let no script be added; axe is run beside it, as a debugger would.
    page.evaluate(AXE.read_text())
    chosen = {} if rules is None else {"runOnly": rules}
    found = page.evaluate("chosen => axe.run(document, {resultTypes: ['violations'], ...chosen})", chosen)
    return [
        f"{item['id']}: {node['target']} {node.get('failureSummary', '')}"
        for item in found["violations"]
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"]
    ]
