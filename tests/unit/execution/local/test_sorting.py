"""Orders are those of a stable sort, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.execution.local import sorting
from omnigraph.execution.local.sorting import order_of, sort_numbers

NUMBERS = {
    "few": np.array([3, 1, 2, 1]),
    "none": np.array([], dtype=np.int64),
    "repeated": np.random.default_rng(1).integers(0, 9, 3000),
    "negative": np.random.default_rng(2).integers(-500, 500, 3000),
    "wide": np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 3000),
    "fractions": np.random.default_rng(4).integers(0, 50, 3000) / 7,
    "narrow": np.random.default_rng(5).integers(0, 50, 3000).astype(np.int32),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_equal_numbers_stay_as_they_stand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_MIN_PACKED_NUMBERS", 1)
    numbers = NUMBERS[name]
    assert order_of(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()
    assert sort_numbers(numbers).tolist() == sorted(numbers.tolist())
