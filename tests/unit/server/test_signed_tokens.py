"""Signed tokens of a provider: who signed one, for whom and until when decides, whatever it says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time as wall
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.server.identity.signed_tokens import ALGORITHMS, SignedTokens, SignedTokensConfig
from omnigraph.server.identity.sources import find_identity
from support.http_server import QuietHandler, running_http_server
from support.seeded_clock import SeededClock

ISSUER, AUDIENCE = "https://id.example", "omnigraph"


@dataclass(frozen=True)
class Signer:
    """A private key with an id."""

    kid: str
    alg: str
    key: Any
    declares: bool = True
    """Whether the published key says how it signs."""

    @property
    def public(self) -> dict[str, Any]:
        kind = self.alg[:2]
        made = {"RS": jwt.algorithms.RSAAlgorithm, "PS": jwt.algorithms.RSAAlgorithm}.get(
            kind, jwt.algorithms.ECAlgorithm if kind == "ES" else jwt.algorithms.OKPAlgorithm
        )
        told: dict[str, Any] = json.loads(made.to_jwk(self.key.public_key()))
        return {**told, "kid": self.kid, "use": "sig"} | ({"alg": self.alg} if self.declares else {})

    def sign(self, header: dict[str, Any] | None = None, **claims: Any) -> str:
        said = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(wall.time()) + 600} | claims
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, self.key, algorithm=self.alg, headers={"kid": self.kid, **(header or {})})


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ONE = Signer("one", "RS256", RSA)
TWO = Signer("two", "ES256", ec.generate_private_key(ec.SECP256R1()))
OTHER = Signer("one", "RS256", rsa.generate_private_key(public_exponent=65537, key_size=2048))


def jwks(*signers: Signer) -> str:
    return json.dumps({"keys": [signer.public for signer in signers]})


def config(keys: Any, **other: Any) -> SignedTokensConfig:
    return SignedTokensConfig(str(keys), ISSUER, AUDIENCE, **other)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(jwks(ONE, TWO))
    return path


@pytest.fixture
def time() -> Iterator[SeededClock]:
    made = SeededClock(7)
    before = clock.install(made)
    yield made
    clock.install(before)


def test_a_token_names_its_actor(keys: Path) -> None:
    tokens = SignedTokens(config(keys))
    assert tokens.find_actor(ONE.sign()) == "ada"
    assert tokens.find_actor(TWO.sign(sub="bob")) == "bob"
    assert tokens.find_actor(ONE.sign(aud=["other", AUDIENCE])) == "ada"
    assert SignedTokens(config(keys, actor_claim="email")).find_actor(ONE.sign(email="a@b")) == "a@b"


LONG_AGO, FAR_OFF = 1_000_000_000, 4_000_000_000


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": LONG_AGO},
        {"exp": None},
        {"exp": "never"},
        {"nbf": FAR_OFF},
        {"iat": FAR_OFF},
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"aud": {"omnigraph": 1}},
        {"iss": "https://id.example/"},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"sub": " ada"},
        {"sub": "ada\n"},
        {"sub": "a" * 257},
    ],
    ids=str,
)
def test_claims_that_do_not_hold_let_nobody_in(keys: Path, claims: dict[str, Any]) -> None:
    assert SignedTokens(config(keys)).find_actor(ONE.sign(**claims)) is None


@pytest.mark.parametrize("exp, nbf", [(-20, 0), (600, 20)])
def test_clocks_may_differ_a_little(keys: Path, exp: int, nbf: int) -> None:
    now = int(wall.time())
    assert SignedTokens(config(keys)).find_actor(ONE.sign(exp=now + exp, nbf=now + nbf)) == "ada"


def _forge(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None) -> str:
    """A token whose header says what it likes, signed with HMAC-SHA256 or not at all."""

    def encode(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    signed = f"{encode(json.dumps(header).encode())}.{encode(json.dumps(claims).encode())}"
    digest = b"" if secret is None else hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{encode(digest)}"


def forged() -> dict[str, str]:
    claims = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": FAR_OFF}
    pem = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    good = ONE.sign()
    head, body, signature = good.split(".")
    evil = Signer("evil", "RS256", OTHER.key)
    return {
        "no signature": _forge({"alg": "none", "kid": "one"}, claims, None),
        "none, written otherwise": _forge({"alg": "nOnE", "kid": "one"}, claims, None),
        "no algorithm": _forge({"kid": "one"}, claims, None),
        "an algorithm that is a list": _forge({"alg": ["RS256"], "kid": "one"}, claims, None),
        "a shared secret that is the public key": _forge({"alg": "HS256", "kid": "one"}, claims, pem),
        "the same, as JSON": _forge({"alg": "HS256", "kid": "one"}, claims, json.dumps(ONE.public).encode()),
        "RS256 that is HMAC": _forge({"alg": "RS256", "kid": "one"}, claims, pem),
        "another algorithm than the key's": _forge({"alg": "ES256", "kid": "one"}, claims, pem),
        "another's signature under a known id": OTHER.sign(),
        "an unknown id": Signer("three", "RS256", RSA).sign(),
        "the id of another key": Signer("two", "RS256", RSA).sign(),
        "an id that is a number": _forge({"alg": "RS256", "kid": 1}, claims, pem),
        "no id, with two keys": jwt.encode(claims, RSA, algorithm="RS256"),
        "a key that it brings": evil.sign({"jwk": evil.public}),
        "an address of keys that it brings": evil.sign({"jku": "https://evil.example/keys"}),
        "an extension that must be known": ONE.sign({"crit": ["x"], "x": 1}),
        "claims of another": f"{head}.{ONE.sign(sub='eve').split('.')[1]}.{signature}",
        "no signature at all": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.{body}",
        "five parts, as if encrypted": f"{good}.{body}.{body}",
        "more than any token": ONE.sign(more="x" * 20_000),
        "no text": "..",
        "not ASCII": "é.é.é",
        "half a letter": "\ud800.a.a",
        "nothing": "",
    }


@pytest.mark.parametrize("name", forged())
def test_a_forged_token_lets_nobody_in(keys: Path, name: str) -> None:
    assert SignedTokens(config(keys)).find_actor(forged()[name]) is None


@pytest.mark.parametrize("declares", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("alg", ALGORITHMS)
def test_every_algorithm_that_may_be_named_works(tmp_path: Path, alg: str, declares: bool) -> None:
    curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
    key: Any = RSA if alg[0] in "RP" else ed25519.Ed25519PrivateKey.generate()
    key = ec.generate_private_key(curves[alg]) if alg in curves else key
    signer = Signer("k", alg, key, declares)
    (tmp_path / "keys").write_text(jwks(signer))
    assert SignedTokens(config(tmp_path / "keys", algorithms=(alg,))).find_actor(signer.sign()) == "ada"
    assert SignedTokens(config(tmp_path / "keys", algorithms=("RS256",))).find_actor(signer.sign()) == (
        "ada" if alg == "RS256" else None
    )


def test_a_key_says_how_it_signs(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(jwks(ONE))
    tokens = SignedTokens(config(tmp_path / "keys", algorithms=("RS256", "PS256")))
    assert tokens.find_actor(Signer("one", "PS256", RSA).sign()) is None


@pytest.mark.parametrize("name", ["HS256", "none", "RS256 ", "ES256K", ""])
def test_algorithms_that_cannot_be_safe_are_refused(keys: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cannot sign"):
        SignedTokens(config(keys, algorithms=(name,)))


@pytest.mark.parametrize(
    "address", ["http://id.example/keys", "ftp://id.example/keys", "http://127.0.0.1.evil.example/k"]
)
def test_keys_are_fetched_by_https(address: str) -> None:
    with pytest.raises(BadInput, match="https://"):
        SignedTokens(config(address))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"keys": 1}', '{"keys": [1]}'])
def test_a_file_that_holds_no_keys_is_refused(keys: Path, text: str) -> None:
    keys.write_text(text)
    with pytest.raises(BadInput, match="JWKS"):
        SignedTokens(config(keys))


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_keys_that_cannot_be_used_are_left_out(keys: Path) -> None:
    weak = Signer("weak", "RS256", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    secret = {"kty": "oct", "kid": "s", "k": "c2VjcmV0", "alg": "HS256"}
    others = [
        secret,
        {"kty": "??", "kid": "q"},
        {**TWO.public, "kid": ["two"]},
        {**TWO.public, "use": "enc"},
        weak.public,
        ONE.public,
    ]
    keys.write_text(json.dumps({"keys": others}))
    tokens = SignedTokens(config(keys))
    assert tokens.find_actor(ONE.sign()) == "ada"
    assert tokens.find_actor(TWO.sign()) is None
    assert tokens.find_actor(weak.sign()) is None


def test_a_file_with_private_keys_is_read_like_any_other(keys: Path) -> None:
    private = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA))
    keys.write_text(json.dumps({"keys": [{**private, "kid": "one"}]}))
    tokens = SignedTokens(config(keys))
    assert (tokens.find_actor(ONE.sign()), tokens.find_actor(OTHER.sign())) == ("ada", None)


def test_keys_of_a_file_are_changed_without_a_restart(keys: Path, time: SeededClock) -> None:
    tokens = SignedTokens(config(keys))
    keys.write_text(jwks(TWO))
    time.sleep(1.1)
    assert (tokens.find_actor(ONE.sign()), tokens.find_actor(TWO.sign())) == (None, "ada")
    keys.unlink()
    time.sleep(1.1)
    assert tokens.find_actor(TWO.sign()) is None


@dataclass
class Provider:
    """What a provider of keys answers."""

    keys: str
    status: int = 200
    asked: int = 0
    headers: dict[str, str] = field(default_factory=dict)


class Handler(QuietHandler, BaseHTTPRequestHandler):
    """Answers with the keys of a provider."""

    def do_GET(self) -> None:
        owner: Provider = self.server.owner  # type: ignore[attr-defined]
        owner.asked += 1
        self.send_response(owner.status)
        for name, value in owner.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(owner.keys.encode())


@pytest.fixture
def provider() -> Provider:
    return Provider(jwks(ONE))


def test_keys_of_an_address_are_asked_for_once(provider: Provider, time: SeededClock) -> None:
    with running_http_server(Handler, provider) as address:
        tokens = find_identity(None, config(f"{address}/keys"), {})
        assert tokens.asks_others
        assert not tokens.is_open
        assert provider.asked == 0
        assert [tokens.find_actor(ONE.sign()) for _ in range(3)] == ["ada"] * 3
        assert provider.asked == 1


def test_a_new_key_is_asked_for_but_not_by_everybody_who_makes_one_up(
    provider: Provider, time: SeededClock
) -> None:
    with running_http_server(Handler, provider) as address:
        tokens = SignedTokens(config(f"{address}/keys"))
        assert tokens.find_actor(ONE.sign()) == "ada"
        provider.keys = jwks(TWO)
        time.sleep(11)
        assert tokens.find_actor(TWO.sign()) == "ada"
        assert tokens.find_actor(ONE.sign()) is None, "a key that was taken back"
        for n in range(5):
            assert tokens.find_actor(Signer(f"x{n}", "RS256", RSA).sign()) is None
        assert provider.asked == 2
        assert tokens.find_actor(TWO.sign()) == "ada"


def test_a_provider_that_is_down_is_waited_for_ten_minutes(provider: Provider, time: SeededClock) -> None:
    with running_http_server(Handler, provider) as address:
        tokens = SignedTokens(config(f"{address}/keys"))
        assert tokens.find_actor(ONE.sign()) == "ada"
        provider.status = 503
        time.sleep(500)
        assert tokens.find_actor(ONE.sign()) == "ada"
        assert tokens.find_actor(TWO.sign()) is None
        time.sleep(200)
        assert tokens.find_actor(ONE.sign()) is None
        provider.status = 200
        time.sleep(11)
        assert tokens.find_actor(ONE.sign()) == "ada"
    assert SignedTokens(config(f"{address}/keys")).find_actor(ONE.sign()) is None, "nobody answers"


@pytest.mark.parametrize(
    ("status", "keys"),
    [(302, ""), (200, ""), (200, "[]"), (200, '{"keys": [{"kid": []}]}'), (200, " " * 2**21), (204, "")],
)
def test_answers_that_are_no_keys_let_nobody_in(
    provider: Provider, time: SeededClock, status: int, keys: str
) -> None:
    provider.status, provider.keys = status, keys
    with running_http_server(Handler, provider) as address:
        provider.headers["Location"] = f"{address}/other"
        assert SignedTokens(config(f"{address}/keys")).find_actor(ONE.sign()) is None
        assert provider.asked == 1
