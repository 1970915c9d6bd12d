"""A small graph with something of everything that the page shows, hostile names among it."""

from __future__ import annotations

import base64
from pathlib import Path

import omnigraph as og

SCHEMA = """
interface Named { name: String }
node Person implements Named {
  name: String @key
  title: String?
  bio: String?
  age: I64?
  embedding: Vector(4)?
  photo: Blob?
  tags: [String]?
  @range(age, 0..150)
}
node Company implements Named { name: String @key  city: String?  founded: I64? }
edge Knows: Person -> Person { since: I64?  @key(src, dst) }
edge WorksAt: Person -> Company @card(0..1) { role: String?  @key(src, dst) }
"""
SCRIPT = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
HOSTILE = (
    SCRIPT,
    "\u202edrawkcab\u202c \u202eRTL",
    "👩‍👩‍👧‍👦 שלום עולם",
    "javascript:alert(1)",
    "x" * 100_000,
    "../../etc/passwd?a=1&b=2#c",
    "${7*7} {{7*7}} %3Cscript%3E",
)
BIO = "Ada wrote the first program, for a machine that did not exist. She was right about it."
RETITLE = (
    "query q($n: String, $t: String, $a: I64) { update Person set { title: $t, age: $a } where name = $n }"
)
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def make_page_graph(folder: Path) -> og.Graph:
    """Make a graph with a branch to review (`agent/enrich`) and one that is in conflict (`agent/rival`)."""
    graph = og.init(folder, SCHEMA, actor="act-ada")
    pixel = "base64:" + base64.b64encode(_PIXEL).decode()
    people = [
        {
            "name": "ada",
            "age": 36,
            "title": "Engineer",
            "bio": BIO,
            "embedding": [1, 0, 0, 0],
            "photo": pixel,
        },
        {"name": "bob", "age": 40, "title": "Manager"},
        {"name": "cyd", "age": 7},
    ]
    firms = [{"name": "Acme", "city": "Berlin", "founded": 1999}, {"name": "Initech", "city": "Austin"}]
    graph.load(
        [
            *({"type": "Person", "data": row} for row in people),
            *({"type": "Company", "data": row} for row in firms),
            {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": 2001}},
            {"edge": "Knows", "from": "bob", "to": "cyd", "data": {}},
            {"edge": "WorksAt", "from": "ada", "to": "Acme", "data": {"role": "CTO"}},
        ],
        mode="append",
        message="the first people",
    )
    graph.branches.create("agent/enrich")
    agent = og.open(graph.uri, branch="agent/enrich", actor="agent-7")
    changed = BIO.replace("right about it", "right about all of it")
    agent.mutate(
        "query q($bio: String) { update Person set { bio: $bio, age: 37, embedding: [0.9, 0.1, 0, 0] }"
        ' where name = "ada" }',
        {"bio": changed},
        message="ages and texts from the directory",
        metadata={"task": "T-7"},
    )
    agent.mutate(
        'query q() { insert Person { name: "dan", age: 22 }'
        ' insert Knows { from: "dan", to: "ada", since: 2020 } }',
        message="found dan",
    )
    agent.mutate('query q() { delete Person where name = "cyd" }', message="cyd was a duplicate")
    graph.branches.create("agent/rival")
    rival = og.open(graph.uri, branch="agent/rival", actor="agent-7")
    for name, title, age in (("ada", "Chief Engineer", 37), ("bob", "Director", 41)):
        rival.mutate(
            RETITLE,
            {"n": name, "t": title, "a": age},
            message=f"what the web says of {name}",
        )
        graph.mutate(
            RETITLE,
            {"n": name, "t": f"{title} of all", "a": age + 1},
            message=f"what {name} says",
        )
    graph.tags.create("v1")
    return graph


def make_hostile_graph(folder: Path) -> og.Graph:
    """Make a graph whose names and texts are what an attacker, or the world, may send."""
    graph = og.init(folder, SCHEMA, actor=SCRIPT)
    records = [
        {"type": "Person", "data": {"name": text[:2000], "title": text, "bio": text, "tags": [text[:50]]}}
        for text in HOSTILE
    ]
    edges = [{"edge": "Knows", "from": HOSTILE[0], "to": text[:2000], "data": {}} for text in HOSTILE[1:]]
    graph.load([*records, *edges], mode="append", message=SCRIPT, metadata={SCRIPT[:40]: SCRIPT})
    graph.branches.create("other")
    other = og.open(graph.uri, branch="other")
    other.mutate(
        "query q($t: String) { update Person set { bio: $t } where title is not null }",
        {"t": SCRIPT[::-1] + SCRIPT},
        message="\u202e" + SCRIPT,
    )
    return graph
