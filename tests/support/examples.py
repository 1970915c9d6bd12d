"""How many examples generated tests take, and more of them on request."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

_TIMES = int(os.environ.get("OMNIGRAPH_EXAMPLES", "1"))
MODEL_EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "0"))
"""How many random histories or graphs are compared with a model; 0 for a test's own fixed ones."""


def examples(count: int) -> int:
    """Return a test's own number, or so many times that as `OMNIGRAPH_EXAMPLES` says."""
    return count * _TIMES


def model_settings(count: int, **more: Any) -> settings:
    """Return the settings of a model: so many fixed examples, or the number that was asked for."""
    return settings(
        max_examples=MODEL_EXAMPLES or count,
        deadline=None,
        derandomize=not MODEL_EXAMPLES,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )
