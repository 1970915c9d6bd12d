"""The compiler's front door: text in; catalogs, checked operations and canonical text out."""

from __future__ import annotations

from omnigraph.compiler.catalog.build import build_draft
from omnigraph.compiler.catalog.identity import assign_ids
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.schema.parser import parse_schema, read_schema
from omnigraph.compiler.schema.printer import print_schema
from omnigraph.compiler.schema.problems import Problems
from omnigraph.compiler.source import Source


def compile_schema(text: str, file: str = "") -> Catalog:
    """Compile a schema text into the catalog of a new graph, or raise a ParseError with every problem."""
    problems = Problems(Source(text))
    draft = build_draft(read_schema(text, problems), problems)
    problems.raise_if_any(file)
    return assign_ids(draft.catalog)


def format_schema(text: str, file: str = "") -> str:
    """Return a schema text in canonical form, with its comments."""
    return print_schema(parse_schema(text, file))
