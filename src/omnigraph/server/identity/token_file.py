"""Files of tokens: as somebody wrote them, or a store of hashes that `omnigraph token` keeps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, NotFound
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import read_json
from omnigraph.storage.files.shared_files import hold_lock, replace_file

_SECRET_BYTES = 32
_PREFIX = "og_"
_MEMBERS = {"id", "actor", "sha256", "created_at", "expires_at"}


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token as it is kept: whose it is, its hash, and until when it holds."""

    id: str
    actor: str
    sha256: bytes
    created_at: float | None = None
    expires_at: float | None = None
    """In epoch seconds; None for ever."""

    def to_json(self) -> dict[str, Any]:
        """Return the token as it is written: never the token itself."""
        return {
            "id": self.id,
            "actor": self.actor,
            "sha256": self.sha256.hex(),
            "created_at": _as_text(self.created_at),
            "expires_at": _as_text(self.expires_at),
        }


def read_token_file(path: Path, default_actor: str) -> Sequence[StoredToken]:
    """Return the tokens of a file; a store may have none, what somebody writes must have one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the token file {path} cannot be read: {error}", path=str(path)) from error
    return parse_tokens(text, default_actor, f"the token file {path}")


def parse_tokens(text: str, default_actor: str, what: str) -> Sequence[StoredToken]:
    """Return the tokens of a text, or say what is wrong without showing any of it."""
    text = text.strip()
    if not text.startswith("{"):
        given: Any = {default_actor: text}
    else:
        try:
            given = read_json(text)
        except ValueError:
            raise BadInput(f"{what} is not JSON") from None
    if isinstance(given.get("tokens"), list):
        return _read_store(given, what)
    for actor, token in given.items():
        if not isinstance(token, str) or not token or not actor.strip():
            raise BadInput(f"{what} must hold one token, or an object of actors and their tokens")
    if not given:
        raise BadInput(f"{what} holds no token")
    try:
        return [StoredToken("", actor, _hash(token)) for actor, token in given.items()]
    except UnicodeEncodeError:
        raise BadInput(f"{what} holds a token that is not text") from None


def add_token(path: Path, actor: str, seconds: float | None) -> tuple[StoredToken, str]:
    """Make a token for an actor and keep its hash; return it once, for it is stored nowhere."""
    if not actor.strip() or actor != actor.strip() or not actor.isprintable():
        raise BadInput(f"{actor!r} is not the name of an actor")
    if seconds == 0:
        raise BadInput("a token that expires at once lets nobody in: give it some time")
    secret = _PREFIX + clock.current().random_bytes(_SECRET_BYTES).hex()
    now = clock.current().now_us() / 1e6
    made = StoredToken(new_ulid(), actor, _hash(secret), now, None if seconds is None else now + seconds)
    with _change(path) as tokens:
        tokens.append(made)
    return made, secret


def revoke_tokens(path: Path, id: str | None = None, actor: str | None = None) -> Sequence[StoredToken]:
    """Take back the token with an id, or all of an actor; servers notice within seconds."""
    with _change(path) as tokens:
        gone = [item for item in tokens if item.id == id or (actor is not None and item.actor == actor)]
        if not gone:
            what = f"the id {id}" if id is not None else f"the actor {actor!r}"
            raise NotFound(f"{path} has no token with {what}", path=str(path))
        tokens[:] = [item for item in tokens if item not in gone]
    return gone


def list_tokens(path: Path) -> Sequence[StoredToken]:
    """Return the tokens of a store, without what they are."""
    return _read_store_file(path)


@contextmanager
def _change(path: Path) -> Iterator[list[StoredToken]]:
    """Let one caller at a time change a store; it is replaced whole, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(path.with_name(f".{path.name}.lock")):
        tokens = list(_read_store_file(path)) if path.exists() else []
        yield tokens
        data = {"version": 1, "tokens": [item.to_json() for item in tokens]}
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        replace_file(path, text.encode(), keeps_readers=True)  # a server often runs as somebody else


def _read_store_file(path: Path) -> Sequence[StoredToken]:
    found = read_token_file(path, "")
    if any(not item.id for item in found):
        raise BadInput(f"{path} holds tokens as they are, and not their hashes: make another file")
    return found


def _read_store(given: dict[str, Any], what: str) -> Sequence[StoredToken]:
    if given.get("version") != 1 or set(given) != {"version", "tokens"}:
        raise BadInput(f"{what} is not a store of tokens that this release reads")
    found = []
    for at, item in enumerate(given["tokens"]):
        try:
            if set(item) - _MEMBERS or not (isinstance(item["actor"], str) and item["actor"].strip()):
                raise ValueError
            digest = bytes.fromhex(item["sha256"])
            if (
                len(digest) != hashlib.sha256().digest_size
                or not isinstance(item["id"], str)
                or not item["id"]
            ):
                raise ValueError
            made, end = (_as_seconds(item.get(name)) for name in ("created_at", "expires_at"))
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{what} is damaged: token {at + 1} of it cannot be read") from None
        found.append(StoredToken(item["id"], item["actor"], digest, made, end))
    return found


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _as_text(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _as_seconds(text: str | None) -> float | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError
    return moment.timestamp()
