"""The product's story, told on Debian's packages: `make demo`. What it prints, it has done and timed."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from demo_agents import let_agents_propose
from demo_page import served

import omnigraph as og
from omnigraph import spark

HERE = Path(__file__).resolve().parent
DATA = HERE / "debian"
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "demo-graph").resolve()
UNFINISHED = ROOT.with_name(f"{ROOT.name}.unfinished")
"""Is there until the story is told: `make serve` tells it again when it was cut off."""
LOADED = "Debian 12.15"
SCHEMA = DATA / "debian.pg"
QUERIES = (DATA / "debian.gq").read_text()
FILES = {
    "Package": "packages.parquet",
    "Maintainer": "maintainers.parquet",
    "Depends": "depends.parquet",
    "Maintains": "maintains.parquet",
}
WRITERS, COMMITS = 4, 10
NOTE = "query note($name: String, $text: String) { update Package set { note: $text } where name = $name }"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m", flush=True)


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    print(f"  {what}: " + (f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:,.1f} ms"), flush=True)


def show(title: str, snapshot: og.Snapshot) -> None:
    rows = ", ".join(f"{table.key} {table.rows:,}" for table in snapshot.tables)
    print(f"  {title}: version {snapshot.version}, {rows}")


def ask(graph: og.Graph, name: str, /, **params: Any) -> list[dict[str, Any]]:
    given = ", ".join(str(value) for value in params.values())
    with timed(f"query {name}({given})"):
        rows = graph.query(QUERIES, params, name=name).rows
    return rows


def show_rows(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        numbers = {float: "{} {:,.1f}", int: "{} {:,}"}
        said = (numbers.get(type(value), "{1}").format(name, value) for name, value in row.items())
        print("    " + " · ".join(said))


def show_refusal(error: og.OmniError) -> None:
    print(f"  [{error.code}] {error}".replace("\n", "\n  "))


def init() -> og.Graph:
    say("Real: Debian's packages, dependencies, maintainers. Made up: the agents and their notes")
    say("A schema, and a graph of it")
    print(SCHEMA.read_text().strip())
    if len(sys.argv) == 1:  # a folder that somebody names is not removed
        UNFINISHED.touch()
        if ROOT.exists():
            print(f"  (the graph of an earlier run in {ROOT.name}/ is removed)")
        shutil.rmtree(ROOT, ignore_errors=True)
    return og.init(ROOT, SCHEMA, actor="act-ada")


def start_spark() -> Any:
    try:
        with timed("Spark started, embedded in this process"):
            return spark.session("local[2]")
    except og.SparkMissing as error:
        show_refusal(error)
        print("  So the loads run in process, with the same result, and the part on SQL is left out.")
        return None


def load(graph: og.Graph, session: Any) -> None:
    say("Debian's packages are loaded: four files, onto a branch, each one commit with every rule checked")
    for type_name, file in FILES.items():
        done = graph.load(
            DATA / file,
            type=type_name,
            mode="append",
            branch="import",
            from_branch="main",
            engine="spark" if session is not None else "local",
            message=f"{LOADED}: {file}",
        )
        phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in done.phases.items())
        print(f"  {type_name:<10} {done.rows:>7,} rows in {done.seconds:.2f} s on {done.engine} ({phases})")
    show("main  ", graph.snapshot())
    show("import", graph.snapshot("import"))
    with timed("merged into main: one commit, and readers see all of it or nothing"):
        graph.branches.merge("import", message=LOADED, delete_branch=True)
    show("main  ", graph.snapshot())
    with timed("optimize has built the indexes that the schema asks for"):
        graph.optimize()


def question(graph: og.Graph) -> None:
    say("What can come along with a package, recommended ones and alternatives too? (a traversal, and sums)")
    for name in ("git", "gnome"):
        (row,) = ask(graph, "closure", name=name)
        print(f"    {row['packages']:,} packages, {row['megabytes']:,.0f} MB installed")
    say("What is needed by most packages, and who maintains what others need? (aggregates)")
    show_rows(ask(graph, "most_needed"))
    show_rows(ask(graph, "keepers"))
    say(
        "Which packages are about chess, and which of these never lead to X11? (text search, and a traversal)"
    )
    show_rows(ask(graph, "about", text="chess game"))
    show_rows(ask(graph, "without", text="chess", other="libx11-6"))
    say("Why can a game of chess bring OpenSSL? (the packages on all shortest paths, step by step)")
    ends = {"first": "gnome-chess", "last": "openssl"}
    hops = ask(graph, "distance", **ends)[0]["hops"]
    steps = groupby(ask(graph, "between", **ends, hops=hops), key=lambda row: row["distance"])
    between = [" or ".join(row["package"] for row in rows) for _, rows in steps]
    print("    " + "\n      → ".join([ends["first"], *between, ends["last"]]))


def write(number: int) -> int:
    graph = og.open(ROOT, actor=f"agent-{number}")
    names = graph.query(
        'query q() { match { $p: Package  $p.section = "games" } return { $p.name } order { $p.name } }'
    )
    for turn in range(COMMITS):
        name = names.rows[number * COMMITS + turn]["p.name"]
        graph.mutate(NOTE, {"name": name, "text": f"seen by agent {number}"}, retry=5)
    return COMMITS


def write_at_once(graph: og.Graph) -> None:
    say("A property is added to the schema, in one commit; it is NULL in all rows")
    with timed("applied"):
        graph.schema.apply("node Package { note: String? }", mode="extend", message="room for notes")
    before = graph.snapshot().version
    say(f"{WRITERS} agents, each a process of its own, write {COMMITS} notes each to main at once")
    with (
        timed("all of them, with starting the processes"),
        multiprocessing.get_context("spawn").Pool(WRITERS) as pool,
    ):
        landed = sum(pool.map(write, range(WRITERS)))
    versions = {commit.version for commit in graph.commits.list(limit=landed)}
    whole = versions == set(range(before + 1, before + 1 + landed))
    print(f"  {landed} commits landed; no version twice, none missing: {whole}")


def review(graph: og.Graph) -> str:
    say("main is protected: it changes only by proposals that somebody else has approved")
    graph.branches.protect("main", approvals=1)
    say("Two agents work on branches of their own, through MCP, as assistants do, and propose what they did")
    with timed("both, each with an `omnigraph mcp` of its own"):
        proposed = let_agents_propose(ROOT)
    first, second = (proposed[name]["id"] for name in ("agent-a", "agent-b"))
    for id in (first, second):
        proposal = graph.proposals.show(id)
        with timed(f'{proposal.author} proposes "{proposal.title}"; compared with main'):
            counts = graph.diff(proposal.base_commit, proposal.source_commit).counts
        for table, changed in counts.items():
            print(f"    {table}: " + ", ".join(f"{number} {op}" for op, number in changed.items() if number))
    try:
        graph.mutate(NOTE, {"name": "git", "text": "directly"})
    except og.OmniError as error:
        show_refusal(error)

    say("Ada approves what agent-a proposes, and it is merged")
    graph.proposals.approve(first)
    with timed("merged"):
        done = graph.proposals.merge(first, delete_branch=True)
    print(f"    {done.outcome}")

    say("Agent-b has changed two of the same packages: nothing is merged before somebody has decided")
    with timed("can it be merged?"):
        state = graph.proposals.mergeable(second)
    for conflict in state.conflicts:
        images = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
        said = {side: image and image["properties"]["note"] for side, image in images.items()}
        print(f"    {conflict.kind} {conflict.entity_id}, notes {said}")
    print(f"    not mergeable: {', '.join(reason.code for reason in state.reasons)}")
    answer = next(item for item in state.conflicts if item.entity_id == "dreamchess")
    graph.proposals.resolve(second, [{**answer.to_json(), "take": "theirs"}])
    print(
        "  Ada has answered for dreamchess, and the answer is kept; brutalchess waits for you, on the page."
    )
    graph.branches.unprotect("main")
    print("  So that you can merge it alone, main is not protected any more.")
    show("main", graph.snapshot())
    return str(second)


def travel(graph: og.Graph) -> None:
    say("Every commit can be read as it was, and says who made it and why")
    loaded = next(commit for commit in graph.commits.list() if commit.message == LOADED)
    for title, snapshot in (("then", graph.snapshot(commit=loaded.id)), ("now ", graph.snapshot())):
        count = 'query q() { match { $p: Package  $p.summary contains "chess" } return { count($p) as n } }'
        (row,) = graph.query(count, snapshot=snapshot).rows
        print(f"  {title} (version {snapshot.version}): {row['n']} packages about chess")
    for commit in graph.commits.list(limit=4):
        where = f"{commit.branch:<8} {commit.version:>3}"
        print(f"  {where}  {commit.actor:<8} {commit.operation:<9} {commit.message}")


def query_in_sql(graph: og.Graph, session: Any) -> None:
    say("The same graph as a catalog of Spark SQL, at any version")
    spark.attach(session, graph.uri, name="og")
    version = next(commit.version for commit in graph.commits.list() if commit.message == LOADED)
    text = f"""
    SELECT p.section, count(*) AS edges, count(DISTINCT d.to) AS needed
      FROM og.main.Depends VERSION AS OF {version} d
      JOIN og.main.Package VERSION AS OF {version} p ON p.name = d.`from`
     GROUP BY p.section ORDER BY edges DESC LIMIT 3"""
    print(text.replace("\n    ", "\n    ")[1:])
    with timed("answered by Spark"):
        rows = session.sql(text).collect()
    show_rows([row.asDict() for row in rows])


def refuse(graph: og.Graph) -> None:
    say("Mistakes are told, with the place and a hint, and nothing is written")
    head = graph.snapshot().commit_id
    wrong = [
        'query q() { insert Package { nam: "x" } }',
        'query q() { update Package set { installed_kb: -1 } where name = "git" }',
    ]
    for text in wrong:
        try:
            graph.mutate(text)
        except og.OmniError as error:
            show_refusal(error)
    edge = {
        "edge": "Depends",
        "from": "git",
        "to": "nothing",
        "data": {"kind": "depends", "alternative": False},
    }
    try:
        graph.load([edge], mode="merge")
    except og.OmniError as error:
        show_refusal(error)
    print(f"  main is where it was: {graph.snapshot().commit_id == head}")


def main() -> None:
    started = time.perf_counter()
    graph = init()
    say("Spark, for the loads")
    session = start_spark()
    load(graph, session)
    question(graph)
    write_at_once(graph)
    refuse(graph)
    waiting = review(graph)
    travel(graph)
    if session is not None:
        query_in_sql(graph, session)
        spark.stop()
    UNFINISHED.unlink(missing_ok=True)
    say(f"Done, in {time.perf_counter() - started:.0f} s. The graph is in {ROOT.name}/. What to try next:")
    print(f"  .venv/bin/omnigraph proposal list --store {ROOT.name}")
    print(f"  .venv/bin/omnigraph query --store {ROOT.name} --query examples/debian/debian.gq most_needed")
    ask_server = '{"query": "query q() { match { $p: Package } return { count($p) as packages } }"}'
    print("  make serve            # over HTTP, and then:")
    print(f"  curl http://127.0.0.1:8080/graphs/{ROOT.name}/query --json '{ask_server}'")
    say("The graph is served, and what agent-b proposes waits on the page for you to settle and merge it:")
    with served(ROOT) as address:
        with timed("started, and the page answers"):
            urllib.request.urlopen(address, timeout=60).close()
        print(f"  {address}/ui/{ROOT.name}/proposal?id={waiting}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nStopped. `make demo` begins again.")
