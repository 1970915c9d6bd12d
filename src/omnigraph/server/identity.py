"""Who is calling: bearer tokens, kept as hashes and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.base.errors import BadInput

_DEFAULT_ACTOR = "default"


@dataclass(frozen=True)
class Tokens:
    """The tokens that are accepted; without any, everybody is let in as nobody."""

    hashes: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Actors, and the SHA-256 of their tokens."""

    @property
    def is_open(self) -> bool:
        """Whether requests need no token."""
        return not self.hashes

    def find_actor(self, token: str) -> str | None:
        """Return whose token this is; all are compared, so that time tells nothing."""
        given = hashlib.sha256(token.encode()).digest()
        matches = [actor for actor, known in self.hashes if hmac.compare_digest(known, given)]
        return matches[0] if matches else None


def read_tokens(path: Path) -> Tokens:
    """Read a file of tokens: a JSON object of actors and tokens, or a single token."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the token file {path} cannot be read: {error}", path=str(path)) from error
    if not text.startswith("{"):
        found = {_DEFAULT_ACTOR: text}
    else:
        try:
            found = json.loads(text)
        except ValueError:
            raise BadInput(f"the token file {path} is not JSON", path=str(path)) from None
    for actor, token in found.items():
        if not isinstance(token, str) or not token or not actor:
            raise BadInput(
                f"the token file {path} must hold one token, or an object of actors and their tokens",
                path=str(path),
            )
    if not found:
        raise BadInput(f"the token file {path} holds no token", path=str(path))
    return Tokens(tuple((actor, hashlib.sha256(token.encode()).digest()) for actor, token in found.items()))
