"""Embedding the texts of a bound query: those in `nearest` of a read, and those that a write assigns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from omnigraph.base.errors import BadInput, EmbeddingUnavailable
from omnigraph.compiler.catalog.model import Catalog, NodeType, Property
from omnigraph.compiler.ir.queries import (
    Assignment,
    InsertNode,
    ReadQuery,
    Statement,
    Update,
    Upsert,
    WriteQuery,
)
from omnigraph.compiler.ir.values import Constant, VectorDistance
from omnigraph.embedding.deadline import set_deadline
from omnigraph.embedding.embedder import Embedder
from omnigraph.execution.embed.stale_vectors import has_words, stale_vector_error
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.missing_vectors import stale_vector_warning
from omnigraph.execution.plan.used_variables import parts_of

Wanted = dict[tuple[str, int], Constant]
"""The vector of a text at a dimension."""

_IR_PACKAGE = "omnigraph.compiler.ir"
_Node = TypeVar("_Node")


def embed_query(query: ReadQuery, embedder: Embedder, budget: QueryBudget) -> ReadQuery:
    """Return a bound read whose `nearest` compares with vectors only; each text is embedded once.

    The provider has until the deadline of the query.
    """
    found = [item for item in parts_of(query, VectorDistance) if not item.query.type.is_vector]
    if not found:
        return query
    for item in found:
        _check_distance(item, query, embedder)
    texts = {item: item.query.value for item in found if isinstance(item.query, Constant)}
    try:
        with set_deadline(budget.last_moment):
            vectors = _embed_texts(embedder, [(item.field.declared, text) for item, text in texts.items()])
    except EmbeddingUnavailable:
        budget.check()  # raises the time limit instead, if that is the cause
        raise
    budget.check()
    replaced: dict[Any, Any] = {}
    for item, text in texts.items():
        type_ = item.field.declared.type
        vector = vectors.get((str(text), type_.vector or 0)) if text is not None else None
        replaced[item] = replace(item, query=vector or Constant(None, replace(type_, nullable=True)))
    return _rewrite(query, replaced)


def embed_writes(
    query: WriteQuery, catalog: Catalog, embedder: Embedder, warnings: dict[str, None]
) -> WriteQuery:
    """Return a bound mutation that assigns the vectors of the texts that it assigns.

    An insert without a vector gets one. An update of a text replaces the vector that stood for the old
    one. Without a provider a nullable vector is NULL then, so that `embed` finds it, which becomes one of the
    `warnings`, and a required one is refused. Texts that are computed from rows come later.
    """
    wanted = [item for statement in query.statements for item in _find_missing_vectors(catalog, statement)]
    if not wanted:
        return query
    vectors: Mapping[tuple[str, int], Constant] = {}
    if embedder.is_configured:
        for owner, item, text in wanted:
            if has_words(text) and item.embed is not None:
                embedder.require_model(item.embed.model, f"{owner.name}.{item.name}")
        vectors = _embed_texts(embedder, [(item, text) for _, item, text in wanted])
    statements = tuple(_add_vectors(catalog, statement, vectors, warnings) for statement in query.statements)
    return replace(query, statements=statements)


def _check_distance(item: VectorDistance, query: ReadQuery, embedder: Embedder) -> None:
    declared = item.field.declared
    name = f"{query.variables[item.field.variable].type_name}.{declared.name}"
    if not isinstance(item.query, Constant):
        raise BadInput(
            f"nearest() on {name} compares with a text of each row: only one text for the whole query is "
            "embedded; give a text, a parameter, or a vector property"
        )
    if item.query.value is None:
        return
    if not has_words(item.query.value):
        raise BadInput(f"nearest() on {name} has a blank text, which has no vector")
    if declared.embed is not None:
        embedder.require_model(declared.embed.model, name)


def _embed_texts(embedder: Embedder, wanted: list[tuple[Property, Any]]) -> Wanted:
    """Embed texts, those of each dimension together; NULL and blank texts have no vector."""
    by_dimension: dict[int, dict[str, Property]] = {}
    for item, text in wanted:
        if has_words(text):
            by_dimension.setdefault(item.type.vector or 0, {})[text] = item
    found: Wanted = {}
    for dimension, texts in by_dimension.items():
        for (text, item), row in zip(texts.items(), embedder.vectors(list(texts), dimension), strict=True):
            found[(text, dimension)] = Constant(tuple(row.tolist()), replace(item.type, nullable=False))
    return found


def _find_missing_vectors(catalog: Catalog, statement: Statement) -> Iterator[tuple[NodeType, Property, Any]]:
    """Yield the vector properties that a statement does not assign, though it assigns their text."""
    if isinstance(statement, InsertNode):
        table, values = catalog.node(statement.type_name), statement.values
    elif isinstance(statement, Update | Upsert) and statement.table.kind == "node":
        table, values = catalog.node(statement.table.type_name), _assignments_of(statement)
    else:
        return
    assert isinstance(table, NodeType)
    if all(item.embed is None for item in table.properties):
        return
    assigned = {item.property.name: item.value for item in values}
    for item in table.properties:
        text = assigned.get(item.embed.source) if item.embed is not None else None
        if not isinstance(text, Constant):
            continue
        # A NULL in an insert may be implicit; in an update it was written.
        given = assigned.get(item.name)
        implicit = isinstance(statement, InsertNode) and isinstance(given, Constant) and given.value is None
        if given is None or implicit:
            yield table, item, text.value


def _add_vectors(
    catalog: Catalog,
    statement: Statement,
    vectors: Mapping[tuple[str, int], Constant],
    warnings: dict[str, None],
) -> Statement:
    added: dict[str, Assignment] = {}
    for _, item, text in _find_missing_vectors(catalog, statement):
        vector = vectors.get((text, item.type.vector or 0)) if has_words(text) else None
        if vector is not None:
            added[item.name] = Assignment(item, vector)
        elif item.type.nullable:
            added[item.name] = Assignment(item, Constant(None, item.type))
            if has_words(text) and isinstance(statement, Update | Upsert):
                warnings[stale_vector_warning(statement.table.type_name, item)] = None
        elif isinstance(statement, Update | Upsert):
            raise stale_vector_error(statement.table.type_name, item, text)
    if isinstance(statement, InsertNode):
        kept = [value for value in statement.values if value.property.name not in added]
        return replace(statement, values=(*kept, *added.values()))
    if isinstance(statement, Update):
        return replace(statement, assignments=(*statement.assignments, *added.values()))
    if isinstance(statement, Upsert):
        return replace(statement, given=(*statement.given, *added.values()))
    return statement


def _assignments_of(statement: Update | Upsert) -> tuple[Assignment, ...]:
    return statement.assignments if isinstance(statement, Update) else statement.given


def _rewrite(node: _Node, replaced: Mapping[Any, Any]) -> _Node:
    """Return a node of the IR with some of the nodes below it replaced."""
    if isinstance(node, VectorDistance):
        return cast(_Node, replaced.get(node, node))
    if isinstance(node, tuple):
        return cast(_Node, tuple(_rewrite(item, replaced) for item in node))
    if not type(node).__module__.startswith(_IR_PACKAGE) or not hasattr(node, "__dataclass_fields__"):
        return node
    parts = {item.name: getattr(node, item.name) for item in fields(node) if item.init}  # type: ignore[arg-type]
    return type(node)(**{name: _rewrite(part, replaced) for name, part in parts.items()})
