"""All queries of a text at once, as somebody sees them who asks for each by its name."""

from __future__ import annotations

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import TypeCheckError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_query
from omnigraph.compiler.ir.queries import CompiledQuery
from omnigraph.compiler.query.parser import parse


def compile_queries(text: str, catalog: Catalog) -> dict[str, CompiledQuery]:
    """Compile every query of a text, or raise an error with the problems of all of them."""
    compiled: dict[str, CompiledQuery] = {}
    problems: list[Diagnostic] = []
    for query in parse(text).queries:
        name = query.name.text
        try:
            compiled[name] = compile_query(text, catalog, name)
        except TypeCheckError as error:
            problems += error.diagnostics
    if problems:
        raise TypeCheckError(problems)
    return compiled
