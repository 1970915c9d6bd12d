"""Tests with libraries that the project does not install: `make integrations` brings them and runs these."""

from __future__ import annotations

from importlib.util import find_spec

NEEDED = {
    "test_langchain.py": "langchain_core",
    "test_llama_index.py": "llama_index",
    "test_igraph.py": "igraph",
    "test_dagster.py": "dagster",
}
collect_ignore = [file for file, package in NEEDED.items() if find_spec(package) is None]
