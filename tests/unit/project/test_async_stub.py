"""The types of the asynchronous twins follow from those of the handles."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_stub_is_what_the_script_makes_of_the_handles() -> None:
    spec = importlib.util.spec_from_file_location("async_stub", ROOT / "scripts" / "async_stub.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.STUB.read_text() == script.make_stub(), "run scripts/async_stub.py"
