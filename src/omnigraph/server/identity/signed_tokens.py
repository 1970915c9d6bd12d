"""Signed tokens of an identity provider (JWT, OIDC): what must be true of one, and the keys that check it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
from jwt.exceptions import PyJWTError

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, OmniError, Unavailable
from omnigraph.base.plain import read_json
from omnigraph.server.identity.watching import WatchedFile

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with public keys; a shared secret would let whoever checks a token make one."""
_LEEWAY_SECONDS = 30
_KEEP_SECONDS = 600.0
"""How long keys of an address are used before they are asked for again."""
_ASK_AGAIN_SECONDS = 10.0
"""How soon they are asked for again because of a key that is not among them."""
_FETCH_SECONDS = 5.0
_MAX_BYTES = 1024 * 1024
_MAX_TOKEN_LETTERS = 16 * 1024
_MAX_ACTOR_LETTERS = 256
_HERE = ("127.0.0.1", "::1", "localhost")

_OF_PUBLIC_KEYS = frozenset({"kty", "kid", "use", "alg", "crv", "x", "y", "n", "e"})
"""The members of a key that are read; a provider that publishes private ones has a problem, and we none."""

SigningKeys = Mapping[str | None, "SigningKey"]


@dataclass(frozen=True)
class SigningKey:
    """A public key as it is published. One that does not say how it signs signs in each way of its kind."""

    jwk: Mapping[str, str]

    def read(self, algorithm: str) -> jwt.PyJWK:
        """Return the key for an algorithm, or raise `PyJWTError` when it is too short or of another kind."""
        found = jwt.PyJWK(dict(self.jwk), algorithm=None if "alg" in self.jwk else algorithm)
        too_short = found.Algorithm.check_key_length(found.key)
        if too_short:
            raise PyJWTError(too_short)
        return found


@dataclass(frozen=True)
class SignedTokensConfig:
    """Whose tokens are accepted, for whom they must be made, and where the keys are."""

    keys: str
    """The path or address of a set of keys (JWKS)."""
    issuer: str
    audience: str
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    actor_claim: str = "sub"

    def check(self) -> None:
        """Refuse what cannot be safe."""
        if not self.issuer or not self.audience or not self.actor_claim:
            raise BadInput("signed tokens need an issuer, an audience and the name of a claim")
        for name in self.algorithms:
            if name not in ALGORITHMS:
                raise BadInput(f"{name!r} cannot sign tokens here: use {', '.join(ALGORITHMS)}")
        if not self.algorithms:
            raise BadInput("name an algorithm that signs tokens")
        if "://" in self.keys:
            place = urlsplit(self.keys)
            if place.scheme != "https" and not (place.scheme == "http" and place.hostname in _HERE):
                raise BadInput("the address of keys must begin with https://")


class SignedTokens:
    """Tells whose a signed token is."""

    is_open = False
    asks_others = True

    def __init__(self, config: SignedTokensConfig) -> None:
        config.check()
        self._config = config
        self._keys = _FetchedKeys(config.keys) if "://" in config.keys else _StoredKeys(Path(config.keys))

    def find_actor(self, token: str) -> str | None:
        """Return the actor that a valid token names; None for anything else."""
        if len(token) > _MAX_TOKEN_LETTERS or token.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in self._config.algorithms:
                return None
            key = self._keys.find(header.get("kid"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key.read(algorithm),
                algorithms=list(self._config.algorithms),
                issuer=self._config.issuer,
                audience=self._config.audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", self._config.actor_claim]},
            )
        except (PyJWTError, ValueError, TypeError, OmniError):
            return None
        actor = claims.get(self._config.actor_claim)
        if not isinstance(actor, str) or not 0 < len(actor) <= _MAX_ACTOR_LETTERS or not actor.isprintable():
            return None
        return actor if actor == actor.strip() else None


class _StoredKeys:
    """The keys of a file as it is now."""

    def __init__(self, path: Path) -> None:
        self._file: WatchedFile[SigningKeys] = WatchedFile(path, _read_keys, {})

    def find(self, kid: str | None) -> SigningKey | None:
        """Return a key by its id."""
        return _choose(self._file.current(), kid)


class _FetchedKeys:
    """The keys of an address, kept for some minutes; one that is not among them has them asked for again."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._keys: SigningKeys = {}
        self._asked = self._had = float("-inf")

    def find(self, kid: str | None) -> SigningKey | None:
        """Return a key by its id."""
        now = clock.current().monotonic()
        has_keys = now - self._had < _KEEP_SECONDS
        found = _choose(self._keys, kid) if has_keys else None
        # Who sends ids of keys that nobody has must not make others wait.
        if found is None and self._lock.acquire(blocking=not has_keys):
            try:
                if clock.current().monotonic() - self._asked >= _ASK_AGAIN_SECONDS:
                    self._asked = clock.current().monotonic()
                    self._keys = self._fetch()
                    self._had = clock.current().monotonic()
            finally:
                self._lock.release()
            # A provider that does not answer leaves what it said before, as long as that may be used.
            if clock.current().monotonic() - self._had < _KEEP_SECONDS:
                found = _choose(self._keys, kid)
        return found

    def _fetch(self) -> SigningKeys:
        try:
            with (
                httpx.Client(timeout=_FETCH_SECONDS, follow_redirects=False) as client,
                client.stream("GET", self._address) as answer,
            ):
                if answer.status_code != httpx.codes.OK:
                    raise Unavailable(
                        f"the keys of signed tokens cannot be read: status {answer.status_code}"
                    )
                data = b""
                for piece in answer.iter_bytes():
                    data += piece
                    if len(data) > _MAX_BYTES:
                        raise Unavailable("the keys of signed tokens are too large")
        except httpx.HTTPError as error:
            raise Unavailable(
                f"the keys of signed tokens cannot be fetched: {type(error).__name__}"
            ) from error
        return _parse_keys(data, self._address)


def _read_keys(path: Path) -> SigningKeys:
    try:
        return _parse_keys(path.read_bytes(), str(path))
    except OSError as error:
        raise BadInput(f"the keys in {path} cannot be read: {error}", path=str(path)) from error


def _parse_keys(data: bytes, where: str) -> SigningKeys:
    try:
        given: Any = read_json(data)
        listed = [
            item for item in given["keys"] if item.get("use", "sig") == "sig" and item.get("kty") != "oct"
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{where} is not a set of keys (JWKS)") from None
    found: dict[str | None, SigningKey] = {}
    for item in listed:
        public = {name: value for name, value in item.items() if name in _OF_PUBLIC_KEYS}
        # What is of a kind that we do not know is left out; others can be used.
        if all(isinstance(value, str) for value in public.values()) and "kty" in public:
            found[public.get("kid")] = SigningKey(public)
    return found


def _choose(keys: SigningKeys, kid: str | None) -> SigningKey | None:
    """Return the key with an id; a token without one can only be of the only key."""
    if kid is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(kid) if isinstance(kid, str) else None
