"""`omnigraph mcp` before it serves: what it prints for clients, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput
from omnigraph.compiler.stored.tools import RESERVED
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.registry import ToolRegistry, graph_tools
from omnigraph.mcp.tools.meta import meta_tools
from support.command_line import run_text

ROOT = Path(__file__).resolve().parents[3]


def test_what_is_pasted_into_a_client_starts_the_same_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(run_text("mcp", "graphs/people", "--as", "agent-7", "--read-only", "--print-config"))
    entry = told["mcpServers"]["omnigraph-people"]
    assert entry["command"].endswith("omnigraph")
    assert entry["args"] == ["mcp", str(tmp_path / "graphs/people"), "--as", "agent-7", "--read-only"]


def test_a_served_graph_is_an_address_whose_token_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "a-secret")
    printed = run_text("mcp", "http://host:8080/graphs/people", "--read-only", "--print-config")
    assert json.loads(printed) == {
        "mcpServers": {
            "omnigraph-people": {
                "type": "http",
                "url": "http://host:8080/graphs/people/mcp?read_only=true",
                "headers": {"Authorization": "Bearer ${OMNIGRAPH_BEARER_TOKEN}"},
            }
        }
    }
    assert "a-secret" not in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("http://host/graphs/people", "--http", "127.0.0.1:0"), "a server answers agents itself"),
        (("people", "--token-file", "tokens.json"), "--token-file is for --http"),
        (("people", "--http", "0.0.0.0:0"), "say who may call with --token-file"),
        (("people", "--http", "127.0.0.1:0", "--as", "act-ada"), "tokens say who calls"),
        (("http://host/graphs/people", "--store", "people"), "give the address once"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(words: tuple[str, ...], said: str) -> None:
    assert said in " ".join(run_text("mcp", *words, code=2).replace("│", " ").split())


def test_a_graph_that_there_is_not_is_an_error_before_anything_is_served(tmp_path: Path) -> None:
    assert "not_a_graph" in run_text("mcp", str(tmp_path / "none"), code=1)


def test_every_tool_has_its_name_reserved_and_says_what_it_does() -> None:
    registry = ToolRegistry()
    every = [*graph_tools(registry.limits), *meta_tools(registry.limits, registry.every_tool, registry.call)]
    assert sorted(tool.name for tool in every) == sorted(RESERVED)
    for tool in every:
        assert tool.title and tool.description.endswith(".") and tool.input_schema["type"] == "object"
        assert all("description" in schema for schema in tool.takes.values()), tool.name
        assert not (tool.destroys and not tool.writes)


def test_every_limit_is_documented_with_its_default_and_checked() -> None:
    page = (ROOT / "docs/mcp.md").read_text()
    for item in fields(ToolLimits):
        variable = item.metadata["variable"]
        assert f"| `{variable}` | {item.default} | {item.metadata['meaning']} |" in page
        assert getattr(ToolLimits.from_environment({variable: "5000"}), item.name) == 5_000
        for wrong in ("-1", "x", "1.5", "9" * 30):
            with pytest.raises(BadInput, match=variable):
                ToolLimits.from_environment({variable: wrong})


def test_every_tool_is_named_in_its_page() -> None:
    page = (ROOT / "docs/mcp.md").read_text()
    assert [name for name in sorted(RESERVED) if f"`{name}`" not in page] == []


def test_help_of_both_commands_is_there() -> None:
    assert "--print-config" in run_text("mcp", "--help")
    assert "--install" in run_text("skill", "--help")
