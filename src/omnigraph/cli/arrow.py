"""Arrow without pandas, for commands that never meet a data frame."""

from __future__ import annotations

import sys
from typing import Any


class _PandasBlocker:
    """An importer that reports pandas as not installed."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_without_pandas() -> None:
    """Import Arrow with pandas hidden from it: Arrow looks for pandas once, at its first value.

    Importing pandas takes longer than a query. Arrow wants it to recognise pandas' own values, and to return
    timestamps in nanoseconds; a graph has neither. Whoever imports pandas later gets it.
    """
    if "pyarrow" in sys.modules:
        return  # the program that runs us has imported it already
    hidden: Any = _PandasBlocker()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa
        import pyarrow.dataset  # Lance needs it; storage leaves an Arrow alone that has it already

        pa.scalar(True)
    finally:
        sys.meta_path.remove(hidden)
