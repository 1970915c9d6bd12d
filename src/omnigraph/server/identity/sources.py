"""Where a server's identities come from: a file of tokens, the environment, signed tokens of a provider."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnigraph.base.errors import BadInput
from omnigraph.server.identity import DEFAULT_ACTOR, Identity, Tokens, read_tokens
from omnigraph.server.identity.signed_tokens import SignedTokens, SignedTokensConfig
from omnigraph.server.identity.token_file import parse_tokens
from omnigraph.server.identity.watching import WatchedFile

TOKENS_FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
TOKENS_JSON = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
ONE_TOKEN = "OMNIGRAPH_SERVER_BEARER_TOKEN"
ENVIRONMENT = (TOKENS_FILE, TOKENS_JSON, ONE_TOKEN)
"""The variables that say who may call, where no file is given."""


class WatchedTokens:
    """The tokens of a file as it is now."""

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, read_tokens, Tokens())

    @property
    def is_open(self) -> bool:
        """Whether requests need no token: a file that has lost all of its tokens lets nobody in."""
        return False

    @property
    def asks_others(self) -> bool:
        """Whether finding an actor may wait for others."""
        return False

    def find_actor(self, token: str) -> str | None:
        """Return whose token this is."""
        return self._file.current().find_actor(token)


@dataclass(frozen=True)
class FirstOf:
    """Several sources: the first that knows a token says whose it is."""

    sources: Sequence[Identity]

    @property
    def is_open(self) -> bool:
        """Whether requests need no token."""
        return all(source.is_open for source in self.sources)

    @property
    def asks_others(self) -> bool:
        """Whether finding an actor may wait for others."""
        return any(source.asks_others for source in self.sources)

    def find_actor(self, token: str) -> str | None:
        """Return whose token this is."""
        found = [source.find_actor(token) for source in self.sources if not source.is_open]
        return next((actor for actor in found if actor is not None), None)


def find_identity(
    token_file: str | None, signed: SignedTokensConfig | None, environment: Mapping[str, str] | None = None
) -> Identity:
    """Return who may call: a file of tokens, else JSON or one token of the environment; and signed tokens."""
    source = os.environ if environment is None else environment
    file = token_file or source.get(TOKENS_FILE)
    sources: list[Identity] = []
    if file:
        sources.append(WatchedTokens(Path(file)))
    elif TOKENS_JSON in source or ONE_TOKEN in source:
        name = TOKENS_JSON if TOKENS_JSON in source else ONE_TOKEN
        if name == TOKENS_JSON and not source[name].strip().startswith("{"):
            raise BadInput(f"{name} is not a JSON object of actors and their tokens")
        sources.append(Tokens.of(parse_tokens(source[name], DEFAULT_ACTOR, name)))
    if signed is not None:
        sources.append(SignedTokens(signed))
    return FirstOf(sources) if sources else Tokens()
