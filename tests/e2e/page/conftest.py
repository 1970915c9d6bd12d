"""A server with graphs, and a browser, for the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.browser import running_browser
from support.page_graph import make_hostile_graph, make_page_graph
from support.served import Served, running_server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of two graphs: people, and hostile ones."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_SERVER_LOG_LEVEL", "error")
        yield from _serve(folder)


def _serve(folder: Path) -> Iterator[Served]:
    make_page_graph(folder / "people")
    make_hostile_graph(folder / "hostile")
    graphs = [f"--graph=people={folder / 'people'}", f"--graph=hostile={folder / 'hostile'}"]
    with running_server(folder, *graphs, f"--state={folder / 'state'}") as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with running_browser() as found:
        yield found
