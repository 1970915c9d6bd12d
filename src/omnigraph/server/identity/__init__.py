"""Who is calling: bearer tokens, kept as hashes and compared in constant time, and where they come from."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from omnigraph.base import clock
from omnigraph.server.identity.token_file import StoredToken, read_token_file

DEFAULT_ACTOR = "default"


class Identity(Protocol):
    """Tells whose a token is. An actor comes from here and from nothing else in a request."""

    @property
    def is_open(self) -> bool:
        """Whether requests need no token."""

    @property
    def asks_others(self) -> bool:
        """Whether finding an actor may wait for others."""

    def find_actor(self, token: str) -> str | None:
        """Return whose token this is; None when nobody has it, or no longer."""


@dataclass(frozen=True)
class Tokens:
    """The tokens that are accepted; without any, everybody is let in as nobody."""

    hashes: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Actors, and the SHA-256 of their tokens."""
    ends: tuple[float | None, ...] = field(default=(), repr=False)
    """When each stops to hold, in epoch seconds; None, and what is not named, never does."""

    @staticmethod
    def of(stored: Sequence[StoredToken]) -> Tokens:
        """Return the tokens of a file."""
        return Tokens(
            tuple((item.actor, item.sha256) for item in stored), tuple(item.expires_at for item in stored)
        )

    @property
    def is_open(self) -> bool:
        """Whether requests need no token."""
        return not self.hashes

    @property
    def asks_others(self) -> bool:
        """Whether finding an actor may wait for others."""
        return False

    def find_actor(self, token: str) -> str | None:
        """Return whose token this is; all are compared, so that time tells nothing."""
        given = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        now = clock.current().now_us() / 1e6
        ends = (*self.ends, *(None,) * (len(self.hashes) - len(self.ends)))
        matches = [
            actor
            for (actor, known), end in zip(self.hashes, ends, strict=True)
            if hmac.compare_digest(known, given) and (end is None or now < end)
        ]
        return matches[0] if matches else None


def read_tokens(path: Path) -> Tokens:
    """Read a file of tokens: a JSON object of actors and tokens, a single token, or a store of hashes."""
    return Tokens.of(read_token_file(path, DEFAULT_ACTOR))
