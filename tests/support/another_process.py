"""Reading and writing as another process does: without what this one remembers of its own writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from omnigraph.base.lru import Lru
from omnigraph.storage.tables import written_rows


@contextmanager
def as_another_process() -> Iterator[None]:
    """Know nothing of rows that were written outside of the block; those of the block are forgotten."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(written_rows, "known", Lru(1 << 20, lambda rows: rows.nbytes))
        yield
