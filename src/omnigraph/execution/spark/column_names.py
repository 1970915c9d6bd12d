"""The names of result columns in Spark, where a dot means a member of a struct."""

from __future__ import annotations

from collections.abc import Iterable


def names_in_spark(names: Iterable[str]) -> list[str]:
    """Return names that Spark can select: `p_name` for `p.name`, unless another column is called so."""
    known = list(names)
    made = [name.replace(".", "_") for name in known]
    return [
        name if changed in known or made.count(changed) > 1 else changed
        for name, changed in zip(known, made, strict=True)
    ]
