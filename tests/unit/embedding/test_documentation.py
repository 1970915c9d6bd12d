"""The page about embedding says what there is."""

from __future__ import annotations

from pathlib import Path

from omnigraph.embedding import config
from omnigraph.embedding.config import PROVIDER_KINDS

PAGE = (Path(__file__).parents[3] / "docs/embedding.md").read_text()


def test_every_variable_is_documented() -> None:
    names = [value for name, value in vars(config).items() if name.endswith("_VARIABLE")]
    assert config.PROVIDER_VARIABLE in names
    assert [name for name in names if f"| `{name}` |" not in PAGE] == []


def test_every_kind_is_documented_with_its_model_and_key() -> None:
    for name, kind in PROVIDER_KINDS.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert f"| `{kind.model}` |" in row or not kind.model
        assert all(f"`{variable}`" in row for variable in kind.key_variables)
