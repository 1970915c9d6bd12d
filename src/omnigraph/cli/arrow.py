"""Arrow without pandas, for commands that never meet a data frame."""

from __future__ import annotations

import sys
from typing import Any


class _PandasBlocker:
    """An importer that knows only that there is no pandas."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_without_pandas() -> None:
    """Import Arrow and let it find no pandas when it looks for it, which it does once, at its first value.

    Importing pandas takes longer than a query. Arrow wants it to recognise pandas' own values, and to return
    moments in nanoseconds; a graph has neither. Whoever imports pandas later gets it.
    """
    if "pyarrow" in sys.modules:
        return  # this process is not ours alone, and has what it wants
    hidden: Any = _PandasBlocker()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.scalar(True)
    finally:
        sys.meta_path.remove(hidden)
