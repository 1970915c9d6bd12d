"""Where a command finds its graph: what was typed, profiles, defaults, servers and their tokens."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.base.errors import BadInput
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command
from omnigraph.cli.config.configuration import read_configuration
from omnigraph.cli.config.credentials import find_token, keep_token, read_credentials, server_of
from omnigraph.cli.main import app
from omnigraph.cli.verbs import VERBS
from support.command_line import run, run_json, run_text
from support.served import TOKENS, Served, running_server

ALL = "query all() { match { $p: Person } return { $p.name } order { $p.name } }"
OLDER = "query older($than: I64) { match { $p: Person  $p.age > $than } return { $p.name } }"
DROP = 'query drop() { delete Person where name = "ada" }'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("OMNIGRAPH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def configure(home: Path, **content: Any) -> None:
    (home / "config.yaml").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("addresses")
    for name, age in (("one", 1), ("two", 2)):
        graph = og.init(folder / name, "node Person { name: String @key  age: I64? }")
        graph.load([{"type": "Person", "data": {"name": name, "age": age}}], mode="append")
        graph.queries.apply({"stored.gq": f"{ALL}\n{OLDER}\n{DROP}"})
    return folder


@pytest.fixture(scope="module")
def served(graphs: Path) -> Iterator[Served]:
    with running_server(graphs, f"{graphs}/one", f"{graphs}/two") as server:
        yield server


def names(*words: str) -> list[str]:
    return [row["p.name"] for row in run_json(*words, "query", "all")["rows"]]


def test_every_command_says_which_flags_it_takes() -> None:
    leaves = {*COMMANDS, *(f"{group} {word}" for group in GROUPS for word in load_command(group).commands)}
    assert leaves == set(VERBS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--as", "x", "branch", "list"), "it writes nothing"),
        (("--yes", "branch", "list"), "cannot use --yes"),
        (("--server", "x", "init", "--schema", "s.pg"), "needs the storage"),
        (("--store", "x", "version"), "cannot use --store"),
        (("--store", "x", "fmt"), "cannot use --store"),
        (("--store", "x", "branch", "list", "--store", "y"), "twice"),
        (("branch", "list", "--store", "x", "--server", "y"), "once"),
        (("branch", "list", "--store", "x", "--graph", "y"), "one graph"),
        (("branch", "list", "--store", "http://x/graphs/y"), "--server"),
        (("snapshot", "https://x/graphs/y"), "--server"),
        (("login", "near", "--server", "x"), "No such option"),
    ],
)
def test_a_flag_that_a_command_cannot_use_is_an_error(home: Path, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_an_address_goes_before_a_profile_which_goes_before_the_environment_and_the_defaults(
    home: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(
        home,
        profiles={"p1": {"store": f"{graphs}/one"}, "p2": {"store": f"{graphs}/two"}},
        defaults={"store": f"{graphs}/one"},
    )
    assert names() == ["one"]
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "p2")
    assert names() == ["two"]
    assert names("--profile", "p1") == ["one"]
    assert names("--profile", "p1", "--store", f"{graphs}/two") == ["two"]
    assert run_text("query", "all", "--uri", f"{graphs}/one") == "p.name\none\n" + (
        f"1 row from branch main via all (commit {og.open(f'{graphs}/one').snapshot().commit_id})\n"
    )


def test_a_served_graph_is_found_by_the_servers_name_or_address(
    home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://{served.address}"
    configure(
        home,
        servers={"near": {"url": url}},
        profiles={"p": {"server": "near", "default_graph": "two"}},
        defaults={"server": "near", "default_graph": "one"},
    )
    monkeypatch.setenv("OMNIGRAPH_TOKEN_NEAR", TOKENS["agent-7"])
    assert names() == names("--server", "near") == ["one"]
    assert names("--profile", "p") == names("--server", f"{url}/graphs/two") == ["two"]
    assert names("--server", url, "--graph", "two") == names("--profile", "p", "--graph", "two") == ["two"]
    unnamed = run("--server", url, "query", "all")
    assert (unnamed.exit_code, "one, two: give --graph" in unnamed.stderr) == (2, True)
    assert run_json("graphs", "list") == {"server": url, "graphs": ["one", "two"]}
    told = run_json("log", "--graph", "two", "--server", "near")
    assert told == run_json("--server", "near", "--graph", "two", "log")
    assert run("--server", "far", "query", "all").exit_code == 1


def test_the_place_of_a_cluster_names_its_graphs(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "cluster"
    og.init(root / "graphs/people.omni", "node Person { name: String @key }").queries.apply({"a.gq": ALL})
    (root / "__cluster").mkdir()
    resources = {"graph.people": {"digest": "x"}, "schema.people": {"digest": "y"}}
    (root / "__cluster/state.json").write_text(json.dumps({"applied_revision": {"resources": resources}}))
    configure(home, clusters={"ours": {"root": str(root)}})
    assert names("--cluster", str(root)) == names("--cluster", "ours", "--graph", "people") == []
    missing = run("--cluster", str(tmp_path), "query", "all")
    assert (missing.exit_code, "no cluster" in missing.stderr) == (1, True)
    assert run("--cluster", "ours", "--graph", "../x", "query", "all").exit_code == 1


def test_a_profile_is_listed_and_shown_without_its_token(
    home: Path, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    url = f"http://{served.address}"
    configure(home, servers={"near": {"url": url}}, profiles={"p": {"server": "near"}})
    monkeypatch.setenv("OMNIGRAPH_TOKEN_NEAR", "a-secret")
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "p")
    [listed] = run_json("profile", "list")["profiles"]
    assert (listed["name"], listed["server"], listed["active"]) == ("p", "near", True)
    shown = run("profile", "show", "--json")
    assert json.loads(shown.stdout) == {**listed, "address": url, "has_token": True}
    assert "a-secret" not in shown.output + run("profile", "show").output
    assert run("profile", "show", "nobody").exit_code == 1


def test_a_token_is_kept_once_the_server_accepts_it_and_forgotten(home: Path, served: Served) -> None:
    configure(home, servers={"near": {"url": f"http://{served.address}"}}, defaults={"server": "near"})
    refused = CliRunner().invoke(app, ["login", "near"], input="wrong\n")
    assert (refused.exit_code, read_credentials()) == (1, {})
    assert "wrong" not in refused.output
    kept = CliRunner().invoke(app, ["login", "near"], input=TOKENS["act-ada"] + "\n")
    assert kept.exit_code == 0, kept.output
    assert TOKENS["act-ada"] not in kept.output
    file = home / "credentials"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run_json("graphs", "list")["graphs"] == ["one", "two"]
    file.chmod(0o640)
    open_to_all = run("graphs", "list")
    assert (open_to_all.exit_code, "chmod 600" in open_to_all.stderr) == (1, True)
    assert run("login", "near", "--token", TOKENS["agent-7"]).exit_code == 1, "nor is it written"
    file.chmod(0o600)
    assert run_json("logout", "near") == {"server": "near", "removed": True}
    assert (run("logout", "near").exit_code, run("graphs", "list").exit_code) == (1, 1)


def test_a_token_goes_to_its_server_and_nowhere_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {"all": "https://host/", "a": "https://host/team/a", "other": "http://host"}
    keep_token("a", "token-a")
    keep_token("all", "token-all")
    found = {
        url: find_token(url, servers)
        for url in (
            "https://host/team/a/graphs/x",
            "https://HOST:443/team/a",
            "https://host/team/ab",
            "http://host/team/a",
            "https://host:8443/team/a",
            "https://host.evil/team/a",
        )
    }
    assert [*found.values()] == ["token-a", "token-a", "token-all", None, None, None]
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "any")
    monkeypatch.setenv("OMNIGRAPH_TOKEN_A", "mine")
    assert find_token("https://host/team/a", servers) == "mine"
    assert find_token("https://host.evil/", servers) == "any"
    for url in (
        "https://host/team/a/../b",
        "https://host/team/a/%2E%2e/b",
        "https://host@evil/",
        "ftp://host",
    ):
        with pytest.raises(BadInput):
            server_of(url, servers)


@pytest.mark.parametrize("token", ["", "two words", "a\nb", "ü", "x\x00"])
def test_what_cannot_stand_in_a_header_is_not_a_token(home: Path, token: str) -> None:
    with pytest.raises(BadInput) as refused:
        keep_token("near", token)
    assert not token or token not in refused.value.message
    assert not (home / "credentials").exists()


def test_what_has_no_meaning_in_the_configuration_is_told_and_left_out(home: Path, graphs: Path) -> None:
    configure(home, defaults={"store": f"{graphs}/one", "colour": "red"}, colours={})
    done = run("query", "all")
    assert done.exit_code == 0
    assert "defaults.colour" in done.stderr and "colours has no meaning" in done.stderr
    assert "colour" not in run("query", "all", "--quiet").stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("servers:\n  near: [", "line 2"),
        ("servers:\n  near:\n    uri: x\n", "line 3"),
        ("servers:\n  near: {url: host}\n", "line 2: servers.near.url"),
        ("profiles:\n  p:\n    store: x\n    server: y\n", "exactly one"),
        ("profiles: {p: {}}", "exactly one"),
        ("defaults:\n  store: x\n  server: y\n", "line 2"),
        ("operator: {actor: a, actor: b}", "twice"),
        ("operator: ada", "mapping"),
        ("aliases: {a: {server: s}}", "no query"),
        ("defaults: {output: xml}", "xml"),
        ("servers: {'a b': {url: http://x}}", "name"),
        ("a: !!python/object/apply:os.system [ls]", "line 1"),
    ],
)
def test_a_mistake_in_the_configuration_is_told_with_its_line(home: Path, text: str, said: str) -> None:
    (home / "config.yaml").write_text(text)
    warnings: list[str] = []
    try:
        read_configuration(warnings.append)
    except BadInput as error:
        assert "line" in error.message and said in error.message
    else:
        assert said in "".join(warnings), "what is not known is only told"


def test_an_alias_reads_by_a_stored_query_with_words_over_what_is_fixed(
    home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    alias = {"server": "near", "graph": "two", "query": "older", "args": ["than"], "params": {"than": 0}}
    configure(
        home,
        servers={"near": {"url": f"http://{served.address}"}},
        aliases={"old": {**alias, "format": "csv"}, "gone": {**alias, "query": "drop"}},
    )
    monkeypatch.setenv("OMNIGRAPH_TOKEN_NEAR", TOKENS["act-ada"])
    assert [item["name"] for item in run_json("alias")["aliases"]] == ["gone", "old"]
    assert run_text("alias", "old") == "p.name\ntwo\n"
    assert run_text("alias", "old", "5") == "p.name\n"
    assert run_json("alias", "old", "5", "--params", '{"than": 1}')["row_count"] == 1
    assert run("alias", "old", "5", "6").exit_code == 2
    assert run("alias", "gone").exit_code == 1, "an alias only reads"
    assert run("--server", "near", "alias", "old").exit_code == 2
    assert run("alias", "none").exit_code == 1


def test_writes_to_storage_are_the_operators_unless_another_actor_is_named(home: Path, graphs: Path) -> None:
    configure(home, operator={"actor": "act-op"}, defaults={"store": f"{graphs}/one"})
    run_text("tag", "create", "mine")
    run_text("--as", "act-ada", "tag", "create", "hers")
    assert [tag["actor"] for tag in run_json("tag", "list")["tags"]] == ["act-ada", "act-op"]
