"""Settings: numbers from the environment, within bounds."""

from __future__ import annotations

from dataclasses import fields

import pytest

from omnigraph.base.errors import BadInput
from omnigraph.base.settings import LONGEST_SECONDS, PREFIX, Settings


@pytest.mark.parametrize("value", ["1e12", "inf", "nan", "-1", "soon", "1" * 400])
@pytest.mark.parametrize("name", ["CLEANUP_GRACE_SECONDS", "IDEMPOTENCY_SECONDS", "PUBLISH_RETRIES"])
def test_a_number_beyond_its_bounds_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=f"{PREFIX}{name}.*at least 0 and at most"):
        Settings.from_environment({f"{PREFIX}{name}": value})


def test_every_setting_takes_its_bounds() -> None:
    for item in fields(Settings):
        largest = str(LONGEST_SECONDS) if item.name.endswith("_seconds") else str(item.metadata["largest"])
        for value in ("0", largest):
            found = Settings.from_environment({f"{PREFIX}{item.name.upper()}": value})
            assert getattr(found, item.name) == float(value)


@pytest.mark.parametrize("value", ["true", "2", ""])
def test_a_switch_is_0_or_1(value: str) -> None:
    with pytest.raises(BadInput, match="is not 0 or 1"):
        Settings.from_environment({f"{PREFIX}FSYNC": value})
