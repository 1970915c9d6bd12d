"""Where the manifest's objects lie below a graph's root, and which of the files there are a graph's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote

from omnigraph.compiler.catalog.model import TableType
from omnigraph.storage.objects import ObjectInfo

MANIFEST = "__manifest"
STAMP = f"{MANIFEST}/graph.json"
BRANCHES = f"{MANIFEST}/branches"
NAMES = f"{MANIFEST}/names"
TAGS = f"{MANIFEST}/tags"
CHAINS = f"{MANIFEST}/chains"
HINTS = f"{MANIFEST}/hints"
FLOORS = f"{MANIFEST}/floors"
SCHEMAS = f"{MANIFEST}/schemas"
FORKS = f"{MANIFEST}/forks"
KEYS = f"{MANIFEST}/keys"
PROPOSALS = f"{MANIFEST}/proposals"
CLEANUP = f"{MANIFEST}/cleanup"
CONDEMNED = f"{CLEANUP}/condemned"
KNOWN_VERSIONS = f"{MANIFEST}/known-versions.bin"
RECOVERY = "__recovery"
QUARANTINE = "__quarantine"
RESTORE_CLAIM = "__restore.json"
PROPOSAL_ID_LENGTH = 26
TABLES = ("nodes", "edges")

_CHAIN = r"[0-9A-Z]{12}"
_OWN = re.compile(
    "|".join(
        (
            *(re.escape(path) for path in (STAMP, KNOWN_VERSIONS)),
            rf"(?:{BRANCHES}|{NAMES}|{TAGS})/(?P<quoted>[^/]+)\.json",
            rf"{CHAINS}/{_CHAIN}/(?P<block>[0-9]{{17}})/(?P=block)[0-9]{{3}}\.json",
            rf"(?:{HINTS}|{FLOORS})/{_CHAIN}\.json",
            rf"{SCHEMAS}/[0-9a-f]{{64}}\.{_CHAIN}\.json",
            rf"{FORKS}/{_CHAIN}/{_CHAIN}\.json",
            rf"{KEYS}/{_CHAIN}/[0-9a-f]{{64}}\.json",
            rf"{PROPOSALS}/[0-9A-Z]{{26}}\.json",
            rf"{CLEANUP}/[^/.]+\.json",
            rf"{CONDEMNED}/[0-9]{{10,}}\.json",
            rf"{RECOVERY}/[^/.][^/]*\.json",
            rf"{QUARANTINE}/.+",
            rf"(?:{'|'.join(TABLES)})/[0-9a-f]{{16}}-[0-9a-f]{{16}}/"
            r"(?:data|_deletions|_indices|_transactions|_versions|_pins)/.+",
        )
    ),
    re.DOTALL,
)


def is_own(path: str) -> bool:
    """Return whether a path is one that a graph gives to its files; other files there are left alone.

    Desktops, file systems and people put files into any folder; nothing may stumble over them.
    """
    found = _OWN.fullmatch(path)
    if found is None:
        return False
    quoted = found["quoted"]
    return quoted is None or quote(unquote(quoted), safe="") == quoted


def own(found: Iterable[ObjectInfo]) -> Iterator[ObjectInfo]:
    """Return what of a listing is a graph's own."""
    return (info for info in found if is_own(info.path))


def record_path(incarnation: str, seq: int) -> str:
    """Return the path of one commit record.

    A folder holds a thousand of them: looking for what follows a record costs the same in a long chain.
    """
    number = f"{seq:020d}"
    return f"{records_of(incarnation)}/{number[:-3]}/{number}.json"


def records_of(incarnation: str) -> str:
    """Return the folder of a chain's records."""
    return f"{CHAINS}/{incarnation}"


def place_of_record(path: str) -> tuple[str, int]:
    """Return the incarnation and the number that a record's path stands for."""
    incarnation, _, name = path.removeprefix(f"{CHAINS}/").split("/")
    return incarnation, int(name.removesuffix(".json"))


def hint_path(incarnation: str) -> str:
    """Return the path of the note that says roughly how long a chain is."""
    return f"{HINTS}/{incarnation}.json"


def floor_path(incarnation: str) -> str:
    """Return the path of the note that says which records of a chain a cleanup has dropped."""
    return f"{FLOORS}/{incarnation}.json"


def condemned_path(number: int) -> str:
    """Return the path of the list of what one cleanup may remove."""
    return f"{CONDEMNED}/{number:010d}.json"


def number_of_list(path: str) -> int:
    """Return the number of the cleanup that a list's path stands for."""
    return int(path.rsplit("/", 1)[1].removesuffix(".json"))


def forks_of(incarnation: str) -> str:
    """Return the folder of the notes that say which chains were forked from one."""
    return f"{FORKS}/{incarnation}"


def fork_path(parent: str, child: str) -> str:
    """Return the path of the note that a chain was forked from another."""
    return f"{forks_of(parent)}/{child}.json"


def key_path(incarnation: str, name: str) -> str:
    """Return the path of the claim of an idempotency key on a chain."""
    return f"{KEYS}/{incarnation}/{name}.json"


def proposal_path(proposal: str) -> str:
    """Return the path of a proposal."""
    return f"{PROPOSALS}/{proposal}.json"


def proposal_of(path: str) -> str:
    """Return the id of the proposal that lies at a path."""
    return path.rsplit("/", 1)[1].removesuffix(".json")


def quarantine_path(plan: str) -> str:
    """Return where a plan goes that cannot be read."""
    return f"{QUARANTINE}/{plan.rsplit('/', 1)[1]}"


def quarantine_of_name(path: str) -> str:
    """Return where the ref or the tag at a path goes that cannot be read."""
    return f"{QUARANTINE}/{path.removeprefix(f'{MANIFEST}/')}"


def schema_path(address: str) -> str:
    """Return the path of a stored schema."""
    return f"{SCHEMAS}/{address}.json"


def ref_path(branch: str) -> str:
    """Return the path of a branch's ref; slashes in the name do not make folders."""
    return f"{BRANCHES}/{quote(branch, safe='')}.json"


def name_path(branch: str) -> str:
    """Return the path of the note that a branch of this name was made once."""
    return f"{NAMES}/{quote(branch, safe='')}.json"


def tag_path(name: str) -> str:
    """Return the path of a tag; slashes in the name do not make folders."""
    return f"{TAGS}/{quote(name, safe='')}.json"


def branch_of(ref: str) -> str:
    """Return the branch name that the path of a ref, or of the note of a name, stands for."""
    return unquote(ref.rsplit("/", 1)[1].removesuffix(".json"))


def is_reserved(name: str) -> bool:
    """Return whether a name right below a root belongs to the graph there."""
    return name in TABLES or name.startswith("__")


def plan_path(operation_id: str) -> str:
    """Return the path of a durable publish plan."""
    return f"{RECOVERY}/{operation_id}.json"


def table_identity(table: TableType) -> str:
    """Return the identity of a table's lifetime: it survives renames and never returns after a drop."""
    return f"{table.id:016x}-{table.table_id:016x}"


def table_location(table: TableType) -> str:
    """Return the folder of a table."""
    return f"{table.kind}s/{table_identity(table)}"
