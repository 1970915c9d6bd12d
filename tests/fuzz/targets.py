"""What is fuzzed: every text and stored format that is read back, and what it may raise."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import omnigraph as og
from omnigraph.base.failpoints import Failpoint
from omnigraph.cli.config.configuration import FILE_NAME, read_configuration
from omnigraph.cluster.config.read_config import read_config
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.store.ledger import decode_state
from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries, format_schema
from omnigraph.execution.load.mapping.mapping import parse_mapping
from omnigraph.graph.backup.manifest import decode_manifest
from omnigraph.graph.branches.children import decode_note
from omnigraph.graph.changes.tokens import unseal
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest.condemned import decode_list
from omnigraph.graph.manifest.floors import decode_floor
from omnigraph.graph.manifest.format import decode_value
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.schemas import _queries, _schema
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.proposals.events import decode_proposal
from omnigraph.graph.proposals.feed import _read as read_events_cursor
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.graph.write.keys import decode_claim
from omnigraph.mcp.pages import read_cursor
from omnigraph.policy.cases import read_cases
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.server.identity.token_file import parse_tokens
from omnigraph.server.jobs.record import read_job
from omnigraph.server.requests.paging import Page
from omnigraph.server.webhooks.config import read_webhooks
from omnigraph.storage.format.version_files import read_files

CORPUS = Path(__file__).parent / "corpus"

SCHEMA = compile_schema(
    """
    interface Named { name: String }
    node Person implements Named { name: String @key  age: I32?  born: Date?  tags: [String]? }
    node Company implements Named { name: String @key  size: U64? }
    edge Knows: Person -> Person { since: Date?  weight: F64? }
    edge WorksAt: Person -> Company @card(0..1)
    """
)


@dataclass(frozen=True)
class Target:
    """Something that reads what others may have written."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]
    """What the corpus begins with."""
    is_json: bool = False


def in_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Return a reader of bytes for one of texts."""
    return lambda data: read(data.decode("utf-8", "surrogateescape"))


def check_schema(text: str) -> None:
    """Compile a schema; what compiles is the same when it is written in canonical form."""
    catalog = compile_schema(text)
    assert compile_schema(format_schema(text)) == catalog


def check_queries(text: str) -> None:
    """Compile a query; its canonical form is the canonical form of itself."""
    formatted = format_queries(text)
    assert format_queries(formatted) == formatted
    compile_query(text, SCHEMA)


def read_home(data: bytes) -> None:
    """Read the configuration of the command line."""
    with TemporaryDirectory() as home, patch.dict("os.environ", OMNIGRAPH_HOME=home):
        Path(home, FILE_NAME).write_bytes(data)
        read_configuration(lambda _: None)


def examples_named(pattern: str) -> Callable[[], Iterator[bytes]]:
    """Return files of the example of a cluster as seeds."""
    folder = Path(__file__).parents[2] / "examples" / "cluster"
    return lambda: (path.read_bytes() for path in sorted(folder.rglob(pattern)))


def sealed(decode: Callable[[bytes, str], object]) -> Callable[[bytes], object]:
    """Return a reader of a control object; the checksum is put right, so that what lies behind it is read."""

    path = "x"

    def read(data: bytes) -> object:
        body = data.rstrip().removesuffix(b"}")
        digest = hashlib.blake2b(path.encode() + b"\n" + body, digest_size=16).hexdigest()
        return decode(body + b',"sum":"' + digest.encode() + b'"}', path)

    return read


def value_of(kind: type) -> Callable[[bytes, str], object]:
    """Return a decoder of a dataclass."""
    return lambda data, path: decode_value(data, path, kind.__name__, kind)


def read_token(text: str) -> object:
    """Read a cursor whose checksum is right."""
    payload = text.encode("utf-8", "surrogateescape")
    check = hashlib.sha256(b"omnigraph change token 1\0" + payload).digest()[:12]
    token = base64.urlsafe_b64encode(check + payload).decode().rstrip("=")
    return unseal(token, "cursor", {"graph": "a", "branch": "main"}, ["after"])


def decode_schema(data: bytes, path: str) -> object:
    """Read a stored schema, or the stored queries that lie beside it."""
    return stored_format.decode(
        data, path, "schema", lambda content: (_queries if "queries" in content else _schema)(content)
    )


def in_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a reader of bytes for one of files."""

    def read_file(data: bytes) -> object:
        with TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_bytes(data)
            return read(path)

    return read_file


def read_hooks(data: bytes) -> object:
    """Read a file of webhooks whose secret is there."""
    with patch.dict("os.environ", REVIEWS_SECRET="sixteen letters or more"):
        return in_file(read_webhooks)(data)


def read_agent_cursor(data: bytes) -> object:
    """Read a cursor that an agent gives back, as it is and with these bytes as what is packed in it."""
    with suppress(og.BadInput):
        read_cursor(data.decode("utf-8", "surrogateescape"), "query", "digest")
    return read_cursor(base64.urlsafe_b64encode(data).decode().rstrip("="), "query", "digest")


def read_proposal_cursor(data: bytes) -> object:
    """Read a cursor of the events of proposals, as it is and with these bytes as what is packed in it."""
    with suppress(og.ChangeCursorRejected):
        read_events_cursor(data.decode("utf-8", "surrogateescape"))
    return read_events_cursor(base64.urlsafe_b64encode(zlib.compress(data)).decode())


def read_page_token(text: str) -> object:
    """Cut a list of the server at a token."""
    return Page(2, text).cut("names", [("main", 1), ("main", 3), ("side", 2)], lambda item: item)


def files_named(suffix: str) -> Callable[[], Iterator[bytes]]:
    """Return the texts of golden tests with a suffix as seeds."""
    golden = Path(__file__).parents[1] / "golden"
    return lambda: (path.read_bytes() for path in sorted(golden.rglob(f"*{suffix}"))[:200])


@cache
def stored_objects() -> Mapping[str, bytes]:
    """Return every control object of a small graph, by path, and the manifest of a table."""
    with TemporaryDirectory() as folder:
        graph = og.init(f"{folder}/graph", SCHEMA)
        graph.mutate('query q() { insert Person { name: "ada", age: 3 } }', idempotency_key="k", message="m")
        graph.branches.create("side")
        graph.mutate('query q() { insert Person { name: "bob" } }', branch="side", metadata={"task": "t"})
        graph.tags.create("one")
        graph.branches.create("child", from_branch="side")
        graph.queries.apply({"grown.gq": STORED_QUERY})
        graph.proposals.create("side", title="bob, too")
        kept: dict[str, bytes] = {}

        def keep_plan(point: Failpoint) -> None:
            if point is Failpoint.PLAN_AFTER_PUT:
                for path in Path(folder, "graph/__recovery").glob("*.json"):
                    kept[f"graph/__recovery/{path.name}"] = path.read_bytes()

        with patch("omnigraph.graph.recovery.plans.hit", keep_plan):
            graph.optimize()
        graph.cleanup(keep=1)
        graph.backup(f"{folder}/backup")
        return kept | {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and path.stat().st_size < 100_000
        }


def control_objects(part: str) -> Callable[[], Iterator[bytes]]:
    """Return what a small graph stores at paths with a part in them, without the checksums."""

    def read() -> Iterator[bytes]:
        for path, data in stored_objects().items():
            if part in path:
                yield re.sub(rb',"sum":"[0-9a-f]+"\}$', b"}", data)

    return read


def texts(*given: str) -> Callable[[], Iterator[bytes]]:
    """Return some texts as seeds."""
    return lambda: (text.encode() for text in given)


MAPPING = """
[[node]]
type = "Person"
files = "people*.csv"
distinct = true
[node.set]
name = "n"
age = { column = "a" }

[[edge]]
type = "Knows"
from = "a"
to = "b"
"""

CONTROL_OBJECTS: Mapping[str, tuple[str, Callable[[bytes, str], object]]] = {
    "record": ("/chains/", value_of(CommitRecord)),
    "ref": ("/branches/", value_of(BranchRef)),
    "tag": ("/tags/", value_of(StoredTag)),
    "stamp": ("graph.json", value_of(Stamp)),
    "plan": ("__recovery/", value_of(DurablePlan)),
    "floor": ("/floors/", decode_floor),
    "list": ("/condemned/", decode_list),
    "claim": ("/keys/", decode_claim),
    "proposal": ("/proposals/", decode_proposal),
    "stored_schema": ("/schemas/", decode_schema),
    "note": ("/forks/", decode_note),
    "backup": ("backup/backups/", decode_manifest),
}

CONFIGURATION = """
operator: {actor: act-ada}
servers:
  prod: {url: "https://graphs.example.com"}
profiles:
  work: {server: prod, default_graph: people}
defaults: {server: prod, output: table, table_width: 120}
aliases:
  older: {server: prod, graph: people, query: older_than, args: [age], params: {limit: 10}}
"""

WEBHOOKS = """
version: 1
allow: [hooks.example.com, {host: ci.internal, private: true}]
webhooks:
  - name: reviews
    url: https://hooks.example.com/omnigraph
    secret_env: REVIEWS_SECRET
    events: [proposal.created, commit.*]
    branches: [main, release/*]
"""

CASES = """
version: 1
cases:
  - {id: drafts, actor: act-ada, action: change, branch: draft, expect: allow}
  - {id: merges, actor: act-bob, action: branch_merge, branch: draft, target_branch: main, expect: deny}
"""

STORED_QUERY = "query grown($age: I32) { match { $p: Person  $p.age > $age } return { $p.name } }"

BEARERS = (
    '{"act-ada": "secret"}',
    '{"version": 1, "tokens": [{"id": "01M7", "actor": "act-ada", "sha256": "'
    + "0" * 64
    + '", "created_at": "2026-01-31T00:00:00Z", "expires_at": null}]}',
)

JOB = '{"id": "01M7", "graph": "people", "kind": "load", "actor": null, "asked": {}, "created": 1}'

LEDGER = """
{"version": 1, "name": "example", "state_revision": 1, "written_by": "01M7",
 "applied_revision": {"config_digest": "d", "resources": {"graph.people": {"digest": "d"}}},
 "resource_statuses": {"graph.people": {"state": "applied"}},
 "approval_records": [], "recovery_records": [], "observations": {}, "settled_intents": []}
"""

TARGETS: Mapping[str, Target] = {
    "schema": Target(in_text(check_schema), files_named(".pg")),
    "queries": Target(in_text(check_queries), files_named(".gq")),
    "mapping": Target(in_text(lambda text: parse_mapping(text, "m.toml")), texts(MAPPING)),
    "configuration": Target(read_home, texts(CONFIGURATION)),
    "cluster": Target(lambda data: read_config(data, ClusterFindings()), examples_named("cluster.yaml")),
    "policy": Target(in_text(parse_bundle), examples_named("policies/*.yaml")),
    "webhooks": Target(read_hooks, texts(WEBHOOKS)),
    "cases": Target(in_file(read_cases), texts(CASES)),
    "token": Target(in_text(read_token), texts('["cursor",{"graph":"a","branch":"main"},{"after":1}]'), True),
    "agent_cursor": Target(read_agent_cursor, texts('["query","digest",7,"01M7",null]'), True),
    "proposal_cursor": Target(read_proposal_cursor, texts('{"01M7TZ":2}'), True),
    "page_token": Target(in_text(read_page_token), texts('["main", 3]'), True),
    "bearers": Target(in_text(lambda text: parse_tokens(text, "act-ada", "x")), texts(*BEARERS), True),
    "job": Target(lambda data: read_job(data, "x"), texts(JOB), True),
    "ledger": Target(decode_state, texts(LEDGER), True),
    "table": Target(lambda data: read_files(data, "x"), control_objects(".manifest")),
    **{
        name: Target(sealed(decode), control_objects(part), is_json=True)
        for name, (part, decode) in CONTROL_OBJECTS.items()
    },
}

ALLOWED = (og.OmniError,)
"""What a reader may raise: everything else is a flaw."""
