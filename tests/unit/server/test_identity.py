"""Tokens: who has them, and what a file of them may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput
from omnigraph.server.identity import Tokens, read_tokens


def test_a_token_is_its_actors_and_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text('{"ada": "one", "bob": "two"}')
    tokens = read_tokens(path)
    assert [tokens.find_actor(token) for token in ("one", "two", "three", "")] == ["ada", "bob", None, None]
    assert "one" not in repr(tokens)
    assert all(b"one" not in known for _, known in tokens.hashes)


def test_a_single_token_is_the_default_actors(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret\n")
    assert read_tokens(path).find_actor("secret") == "default"


@pytest.mark.parametrize("text", ["{}", "{", '{"ada": 1}', '{"": "x"}', '{"ada": ""}', ""])
def test_a_file_that_holds_no_tokens_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(BadInput, match="token file"):
        read_tokens(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_tokens(tmp_path / "none")


def test_without_tokens_everybody_is_let_in() -> None:
    assert Tokens().is_open
