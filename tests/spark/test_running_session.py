"""A session that runs is used by whoever asks for one."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph import spark


def test_a_running_session_is_used_again(session: Any, master: str) -> None:
    assert spark.session() is session
    assert spark.session(master) is session
    with pytest.raises(og.BadInput, match="already"):
        spark.session("spark://elsewhere:7077")
