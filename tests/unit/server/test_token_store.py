"""Tokens come, go and expire while a server runs; of a store nobody learns a token."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.server.identity import read_tokens
from omnigraph.server.identity.sources import FirstOf, WatchedTokens, find_identity
from omnigraph.server.identity.token_file import add_token, list_tokens, revoke_tokens
from support.command_line import run, run_json
from support.seeded_clock import SeededClock


@pytest.fixture
def time() -> Iterator[SeededClock]:
    """Time that only moves when it is told to, and randomness that never repeats within a test."""
    made = SeededClock(7)
    before = clock.install(made)
    yield made
    clock.install(before)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "more" / "tokens.json"


def test_a_store_holds_hashes_and_only_its_owner_reads_it(store: Path) -> None:
    _, secret = add_token(store, "ada", None)
    text = store.read_text()
    assert secret.startswith("og_")
    assert secret not in text
    assert hashlib.sha256(secret.encode()).hexdigest() in text
    assert store.stat().st_mode & 0o777 == 0o600
    assert read_tokens(store).find_actor(secret) == "ada"
    assert secret not in repr(list_tokens(store)) + repr(read_tokens(store))


def test_who_may_read_a_store_stays_so(store: Path) -> None:
    add_token(store, "ada", None)
    store.chmod(0o640)
    add_token(store, "bob", None)
    assert store.stat().st_mode & 0o777 == 0o640


def test_a_running_server_notices_what_is_added_and_revoked(store: Path, time: SeededClock) -> None:
    first, one = add_token(store, "ada", None)
    known = WatchedTokens(store)
    _, two = add_token(store, "ada", None)
    time.sleep(1.1)
    assert [known.find_actor(token) for token in (one, two, "og_", "")] == ["ada", "ada", None, None]
    revoke_tokens(store, first.id)
    time.sleep(1.1)
    assert [known.find_actor(token) for token in (one, two)] == [None, "ada"]
    revoke_tokens(store, actor="ada")
    time.sleep(1.1)
    assert known.find_actor(two) is None
    assert not known.is_open, "a file without any token lets nobody in, and not everybody"


def test_a_token_expires_while_the_server_runs(store: Path, time: SeededClock) -> None:
    _, secret = add_token(store, "ada", 60)
    known = WatchedTokens(store)
    assert known.find_actor(secret) == "ada"
    time.sleep(58)
    assert known.find_actor(secret) == "ada"
    time.sleep(2)
    assert known.find_actor(secret) is None


def test_a_file_that_is_gone_or_cannot_be_read_lets_nobody_in(store: Path, time: SeededClock) -> None:
    _, secret = add_token(store, "ada", None)
    known = WatchedTokens(store)
    text = store.read_text()
    store.unlink()
    time.sleep(1.1)
    assert known.find_actor(secret) is None
    store.write_text(text)
    time.sleep(1.1)
    assert known.find_actor(secret) == "ada"
    store.unlink()
    store.mkdir()
    time.sleep(1.1)
    assert known.find_actor(secret) is None


def test_a_file_that_is_damaged_leaves_what_was_read_before(store: Path, time: SeededClock) -> None:
    _, secret = add_token(store, "ada", None)
    known = WatchedTokens(store)
    whole = store.read_text()
    for damaged in (whole[:-20], "", "{}", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [{}]}'):
        store.write_text(damaged)
        time.sleep(1.1)
        assert known.find_actor(secret) == "ada", damaged


def test_what_somebody_wrote_is_not_turned_into_a_store(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text('{"ada": "one"}')
    with pytest.raises(BadInput, match="another file"):
        add_token(path, "bob", None)
    assert path.read_text() == '{"ada": "one"}'


def test_many_who_add_at_once_lose_nothing(store: Path) -> None:
    threads = [threading.Thread(target=add_token, args=(store, f"a{n}", None)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(item.actor for item in list_tokens(store)) == [f"a{n}" for n in range(8)]
    assert sorted(path.name for path in store.parent.iterdir()) == [".tokens.json.lock", "tokens.json"]


@pytest.mark.parametrize(
    "item",
    [
        *(None, [], 7, "x", {}),
        {"id": "a", "actor": "ada", "sha256": "00"},
        {"id": "a", "actor": " ", "sha256": "0" * 64},
        {"id": "", "actor": "ada", "sha256": "0" * 64},
        {"id": "a", "actor": "ada", "sha256": "0" * 64, "expires_at": "soon"},
        {"id": "a", "actor": "ada", "sha256": "0" * 64, "expires_at": "2030-01-01T00:00:00"},
        {"id": "a", "actor": "ada", "sha256": "0" * 64, "expires_at": 5},
        {"id": "a", "actor": "ada", "sha256": "0" * 64, "expires": "2030-01-01T00:00:00Z"},
    ],
)
def test_a_damaged_entry_is_named_by_its_place(store: Path, item: object) -> None:
    store.parent.mkdir()
    store.write_text(json.dumps({"version": 1, "tokens": [item]}))
    with pytest.raises(BadInput, match="token 1 of it"):
        read_tokens(store)


def test_the_command_makes_lists_and_revokes(store: Path) -> None:
    made = run_json("token", "add", "ada", "--file", str(store), "--expires", "30d")
    assert made["actor"] == "ada"
    listed = run_json("token", "list", "--file", str(store))
    assert listed == [{name: made[name] for name in ("id", "actor", "created_at", "expires_at")}]
    assert made["token"] not in run("token", "list", "--file", str(store)).output
    assert run_json("token", "revoke", made["id"], "--file", str(store)) == listed
    assert run_json("token", "list", "--file", str(store)) == []


@pytest.mark.parametrize(
    "words",
    [
        ("add", " ", "--file", "{}"),
        ("add", "a\nb", "--file", "{}"),
        ("add", "ada", "--file", "{}", "--expires", "soon"),
        ("add", "ada", "--file", "{}", "--expires", "9999999d"),
        ("add", "ada", "--file", "{}", "--expires", "0s"),
        ("revoke", "--file", "{}"),
        ("revoke", "x", "--file", "{}"),
        ("revoke", "x", "--actor", "ada", "--file", "{}"),
        ("revoke", "--actor", "eve", "--file", "{}"),
        ("list", "--file", "{}.none"),
    ],
)
def test_a_command_that_is_wrong_fails_and_changes_nothing(store: Path, words: tuple[str, ...]) -> None:
    add_token(store, "ada", None)
    before = store.read_text()
    done = run("token", *(word.format(store) for word in words))
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output
    assert store.read_text() == before


def test_the_environment_is_asked_first_to_last(tmp_path: Path) -> None:
    path, flag = tmp_path / "tokens", tmp_path / "flag"
    path.write_text('{"file": "one"}')
    flag.write_text('{"flag": "one"}')
    told = {
        "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(path),
        "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"json": "one"}',
        "OMNIGRAPH_SERVER_BEARER_TOKEN": "one",
    }
    assert find_identity(str(flag), None, told).find_actor("one") == "flag"
    for actor in ("file", "json", "default"):
        assert find_identity(None, None, told).find_actor("one") == actor
        del told[next(iter(told))]
    assert find_identity(None, None, told).is_open


@pytest.mark.parametrize(
    "told",
    [
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": "s3cr3t"},
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"ada": "s3cr3t"'},
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"ada": ["s3cr3t"]}'},
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"ada": "s3cr3t\\ud800"}'},
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": "{}"},
        {"OMNIGRAPH_SERVER_BEARER_TOKEN": " "},
        {"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": "/nowhere/s"},
    ],
)
def test_an_environment_that_is_wrong_is_refused_and_not_repeated(told: dict[str, str]) -> None:
    with pytest.raises(BadInput) as refused:
        find_identity(None, None, told)
    assert "s3cr3t" not in str(refused.value) + repr(refused.value.details)


def test_sources_stand_beside_each_other() -> None:
    told = {"OMNIGRAPH_SERVER_BEARER_TOKEN": "one"}
    identity = find_identity(None, None, told)
    assert isinstance(identity, FirstOf)
    assert not identity.asks_others
    assert identity.find_actor("two") is None


def test_a_server_is_open_or_has_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_UNAUTHENTICATED", "1")
    monkeypatch.setenv("OMNIGRAPH_SERVER_BEARER_TOKEN", "one")
    done = run("serve", str(tmp_path))
    assert (done.exit_code, "not both" in done.output) == (2, True)
