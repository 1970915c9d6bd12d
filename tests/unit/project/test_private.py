"""A leading underscore means: of this package only."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src" / "omnigraph"

DEFINITION = re.compile(r"(?m)(?:\bdef|\bclass|self\.|cls\.|^\s*|, )\s*(_[A-Za-z]\w*)")
USE = re.compile(r"([\w\])]+)\.(_[A-Za-z]\w*)")
OF_LIBRARIES = {
    "lance": {"_take_rows", "_path"},
    "lark": {"_load_from_dict", "_parse_table"},
    "pyarrow": {"_pandas_api"},
    "pyspark": {
        *("_active_spark_context", "_ensure_initialized", "_gateway", "_instantiatedSession", "_jsc", "_jvm"),
    },
    "pandas": {"_libs"},
    "starlette": {"_utils"},
    "python": {"_TemporaryFileWrapper", "_exit", "_process_class", "_recursive_repr", "_srcfile"},
}
"""What is private to a library and used all the same; each has a test that turns red when it is gone."""


def test_nobody_reaches_for_a_private_attribute_of_another_package() -> None:
    texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    defined: defaultdict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        defined[_package_of(path)].update(DEFINITION.findall(text))
    known = set().union(*OF_LIBRARIES.values())
    found = {
        f"{path.relative_to(SOURCE)}: {of}.{name}"
        for path, text in texts.items()
        for of, name in USE.findall(text)
        if of not in ("self", "cls", "super()") and name not in defined[_package_of(path)] | known
    }
    assert found == set()


def _package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]
