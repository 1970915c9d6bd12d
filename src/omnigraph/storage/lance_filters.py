"""One gap of Lance mended: filters over tables that hold lists of unsigned numbers or of moments.

A filter travels as Substrait together with the whole schema, and Substrait has no such types. Lance puts a
placeholder where a column has one itself, and forgets those inside lists; the filter then fails although it
does not even name the column. `tests/unit/storage/test_lance_surface.py` tells when Lance no longer does.
"""

from __future__ import annotations

from importlib import import_module

import pyarrow as pa

_module = import_module("lance.dataset")  # `lance.dataset` itself is a function of the same name
_known = _module._needs_substrait_placeholder


def needs_placeholder(type_: pa.DataType) -> bool:
    """Say whether Substrait cannot say a type."""
    if pa.types.is_list(type_) and _is_unknown(type_.value_type):
        return True
    return bool(_known(type_))


def _is_unknown(type_: pa.DataType) -> bool:
    return bool(pa.types.is_unsigned_integer(type_) or pa.types.is_date64(type_))


def mend_filters() -> None:
    """Make Lance put placeholders for such lists as well; once for the whole process."""
    _module._needs_substrait_placeholder = needs_placeholder  # type: ignore[attr-defined]
