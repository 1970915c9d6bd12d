"""Each command on a stored graph and on a served one: the same JSON, the same exit code.

Two copies of one graph, one of them behind a real server, get the same commands in the same order. What they
print is equal but for new ids, times and places.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import omnigraph as og
from omnigraph.cli.verbs import VERBS
from support.command_line import run
from support.served import TOKENS, Served, running_server

SCHEMA = """
node Person {
  name: String @key  age: I64?  photo: Blob?  vec: Vector(2)?  bio: String?  words: Vector(4)? @embed("bio")
}
edge Knows: Person -> Person
"""
PEOPLE = [
    {"type": "Person", "data": {"name": "ada", "age": 36, "photo": "base64:AAEC", "vec": [0.5, 1]}},
    {"type": "Person", "data": {"name": "bob", "age": None}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1"}},
]
ALL = "query all() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
ADD = "query add($n: String, $a: I64?) { insert Person { name: $n, age: $a } }"
STORED = ALL + "\n" + ADD
PARTS_THAT_DIFFER = {
    *("seconds", "phases", "bytes_read", "bytes_written", "bytes", "uri", "path", "engine_reason", "what")
}
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z")
MICROSECONDS = re.compile(r"\b1[78]\d{14}\b")
CURSOR = re.compile(r"eyJ[\w=-]+|[\w-]{60,}")


@dataclass(frozen=True)
class Ways:
    """Where the two copies are."""

    store: tuple[str, ...]
    server: tuple[str, ...]
    folder: Path


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    folder = tmp_path_factory.mktemp("ways")
    graph = og.init(folder / "first", SCHEMA, actor="act-ada")
    graph.load(PEOPLE, mode="append", message="people")
    graph.branches.create("side")
    graph.mutate(ADD, {"n": "eve", "a": 7}, branch="side", message="eve comes")
    graph.tags.create("v1")
    graph.queries.apply({"stored.gq": STORED})
    graph.close()
    shutil.copytree(folder / "first", folder / "second")
    (folder / "home").mkdir()
    (folder / "more.ndjson").write_text(json.dumps({"type": "Person", "data": {"name": "zoe", "age": 1}}))
    (folder / "people.ndjson").write_text("\n".join(json.dumps(item) for item in PEOPLE))
    (folder / "wider.pg").write_text(SCHEMA.replace("age: I64?", "age: I64?  town: String?"))
    (folder / "q.gq").write_text(ALL)
    (folder / "bytes").write_bytes(b"abc")
    (folder / "answers.json").write_text("[]")
    with pytest.MonkeyPatch.context() as patch, embedding_server(folder, patch) as served:
        (folder / "home/config.yaml").write_text(
            f"operator: {{actor: act-ada}}\nservers: {{near: {{url: 'http://{served.address}'}}}}\n"
        )
        patch.setenv("OMNIGRAPH_HOME", str(folder / "home"))
        patch.setenv("OMNIGRAPH_TOKEN_NEAR", TOKENS["act-ada"])
        yield Ways(("--store", f"{folder}/first"), ("--server", "near", "--graph", "second"), folder)


@contextmanager
def embedding_server(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
    patch.setenv("OMNIGRAPH_EMBEDDING_PROVIDER", "mock")
    with running_server(folder, f"{folder}/second") as served:
        yield served


def unified(text: str) -> str:
    """Replace what is new in each run, in the order in which it comes."""
    for pattern, name in ((TIME, "time"), (MICROSECONDS, "1"), (ULID, "id"), (CURSOR, "cursor")):
        seen: dict[str, str] = {}
        text = pattern.sub(lambda found: seen.setdefault(found[0], f"{name}{len(seen)}"), text)  # noqa: B023
    return text


def without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without(item) for name, item in value.items() if name not in PARTS_THAT_DIFFER}
    return [without(item) for item in value] if isinstance(value, list) else value


def told(done: Result) -> Any:
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return json.loads(unified(json.dumps([without(line) for line in lines])))


STEPS: tuple[tuple[str, int], ...] = (
    ("snapshot", 0),
    ("snapshot --tag v1", 0),
    ("snapshot --branch nowhere", 1),
    ("query -e {ALL}", 0),
    ("query -e {ALL} --branch side", 0),
    ("query -e {ALL} --snapshot side~1", 0),
    ("query -e {ALL} --snapshot v1", 0),
    ("query -e {ALL} --snapshot nothing", 1),
    ("query -e broken", 1),
    ("query all", 0),
    ("query add", 1),
    ("query unknown", 1),
    ("queries list", 0),
    ("queries show all", 0),
    ("queries show unknown", 1),
    ("queries validate --queries {folder}/q.gq", 0),
    ("queries apply --queries {folder}/q.gq --extend", 0),
    ("explain -e {ALL}", 0),
    ("lint --query {folder}/q.gq", 0),
    ("schema show", 0),
    ("schema plan --schema {folder}/wider.pg", 0),
    ("branch list", 0),
    ("branch info side", 0),
    ("commit list", 0),
    ("commit list --branch side -n 1 --filter actor=act-ada", 0),
    ("commit show HEAD~1", 0),
    ("commit show v1", 0),
    ("commit show nothing", 1),
    ("commit changes side", 0),
    ("diff main side", 0),
    ("diff v1 HEAD --counts", 0),
    ("log", 0),
    ("log --graph -n 2", 0),
    ("tag list", 0),
    ("entity show Person ada", 0),
    ("entity history Person ada", 0),
    ("entity blame Person ada --snapshot v1", 0),
    ("entity show Person nobody", 1),
    ("blob stat node Person ada photo", 0),
    ("changes poll --start beginning", 0),
    ("changes baseline --out {folder}/{way}.ndjson", 0),
    ("export --out {folder}/{way}-export.ndjson", 0),
    ("mutate add --params {zed} -m stored", 0),
    ("mutate -e {ADD} --params {zed}", 0),
    ("mutate -e {ADD} --params {wrong}", 1),
    ("mutate all", 1),
    ("mutate add --params {yan} --if-commit v1", 4),
    ("load --data {folder}/more.ndjson --mode merge --branch extra --from main -m more", 0),
    ("load --data {folder}/nothing.ndjson --mode merge", 1),
    ("load --data {folder}/more.ndjson --mode overwrite --branch extra --yes", 1),
    ("load --data {folder}/people.ndjson --mode overwrite --branch extra --yes", 0),
    ("blob put node Person bob photo {folder}/bytes", 0),
    ("blob clear node Person bob photo", 0),
    ("blob get node Person ada photo", 0),
    ("branch create more --from side", 0),
    ("branch create more", 1),
    ("branch rename more most", 0),
    ("branch reset most v1", 0),
    ("branch rebase extra", 0),
    ("proposal create side --title together", 0),
    ("proposal list", 0),
    ("proposal show {made}", 0),
    ("proposal mergeable {made}", 0),
    ("proposal diff {made}", 0),
    ("proposal comment {made} well", 0),
    ("proposal approve {made}", 1),
    ("proposal request-changes {made}", 2),
    ("proposal request-changes {made} more", 0),
    ("proposal resolve {made} {folder}/answers.json", 0),
    ("proposal close {made}", 0),
    ("proposal reopen {made}", 0),
    ("proposal resolve {made} {folder}/nothing.json", 1),
    ("branch protect extra", 0),
    ("branch unprotect extra", 0),
    ("proposal merge nothing", 1),
    ("proposal create extra --title more", 0),
    ("proposal merge {made} -m merged", 0),
    ("branch merge side --dry-run", 0),
    ("branch merge side -m together", 0),
    ("branch merge nowhere", 1),
    ("branch delete most --yes", 0),
    ("branch restore most", 0),
    ("commit revert HEAD --dry-run", 0),
    ("commit cherry-pick extra --dry-run", 0),
    ("commit revert --actor act-ada --since HEAD~1 --dry-run", 0),
    ("commit revert --since HEAD~1", 1),
    ("entity reset Person bob v1", 0),
    ("entity same Person age", 0),
    ("entity combine Person ada bob --values newest -m one", 0),
    ("entity combine Person ada nobody", 1),
    ("branch merge extra --same-as Person.age --dry-run", 0),
    ("branch merge extra --same-as Person", 1),
    ("tag create v2", 0),
    ("tag delete v2", 0),
    ("tag delete v2", 1),
    ("schema apply --schema {folder}/wider.pg", 0),
    ("queries remove add", 0),
    ("embed", 0),
    ("embed --type Nobody", 1),
    ("optimize", 0),
    ("cleanup --keep 5", 0),
    ("repair", 0),
)
VALUES = {"ALL": ALL, "ADD": ADD, "zed": '{"n": "zed", "a": 5}', "yan": '{"n": "yan"}', "wrong": '{"x": 1}'}
AS_TEXT = ("blob get",)
TALKS = {"mcp", "shell"}
"""What goes on talking is driven by `test_mcp.py` and `test_shell.py`."""


def test_every_command_says_the_same_of_a_stored_graph_and_of_a_served_one(ways: Ways) -> None:
    made: dict[str, str] = {}
    for step, code in STEPS:
        done = {}
        for way, where in (("store", ways.store), ("server", ways.server)):
            given = {**VALUES, "folder": str(ways.folder), "way": way, "made": made.get(way, "")}
            words = [word.format_map(given) for word in step.split(" ")]
            as_json = [] if step.startswith(AS_TEXT) else ["--json"]
            done[way] = run(*words, *where, *as_json)
            assert done[way].exit_code == code, (step, way, done[way].output)
            assert "Traceback" not in done[way].output
            if step.startswith("proposal create"):
                made[way] = json.loads(done[way].stdout)["id"]
        if step.startswith(AS_TEXT):
            assert done["store"].stdout_bytes == done["server"].stdout_bytes
        else:
            assert told(done["store"]) == told(done["server"]), step


def test_every_command_that_works_on_a_graph_is_tried_both_ways() -> None:
    tried = {step for step, _ in STEPS}
    untried = {
        name
        for name, kind in VERBS.items()
        if kind.where == "graph"
        and name not in TALKS
        and not any(step == name or step.startswith(f"{name} ") for step in tried)
    }
    assert untried == set()


@pytest.mark.parametrize("words", [("init", "--schema", "x.pg"), ("backup",)])
def test_what_needs_storage_says_so_of_a_server(ways: Ways, words: tuple[str, ...]) -> None:
    before = run(*ways.server, *words)
    assert before.exit_code == 2
    assert "needs the storage" in before.stderr
    assert run(*words, *ways.server).exit_code == 2


def test_a_server_takes_nobodys_word_for_who_is_acting(ways: Ways) -> None:
    done = run("--as", "root", "mutate", "-e", ADD, *ways.server)
    assert (done.exit_code, "token" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("branch", "delete", "extra"),
        ("load", "--data", "x.ndjson", "--mode", "overwrite"),
        ("cleanup", "--keep", "1", "--confirm"),
    ],
)
def test_what_others_may_miss_needs_yes_on_a_server(ways: Ways, words: tuple[str, ...]) -> None:
    done = run(*words, *ways.server)
    assert (done.exit_code, "--yes" in done.stderr) == (2, True)
