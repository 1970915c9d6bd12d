"""Random syntax trees of the query language, for tests that print and parse them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import strategies as st

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.tokens import KEYWORDS
from omnigraph.compiler.source import NOWHERE, Span
from omnigraph.compiler.types import PropertyType, Scalar

_words = st.one_of(
    st.sampled_from(sorted(KEYWORDS)), st.from_regex(r"[a-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
)
_idents = st.from_regex(r"[a-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(lambda word: word not in KEYWORDS)
_edge_words = _words.filter(lambda word: word != "not")
_type_names = st.from_regex(r"[A-Z][A-Za-z0-9_]{0,8}", fullmatch=True)
_texts = st.text(st.characters(codec="utf-8"), max_size=12)
_at = st.just(NOWHERE)


def _name(words: st.SearchStrategy[str] = _words) -> st.SearchStrategy[ast.Identifier]:
    return st.builds(ast.Identifier, words, _at)


_variables = st.builds(ast.VariableReference, _words, _at)
_properties = st.builds(ast.PropertyAccess, _variables, _name(), _at)
_floats = st.tuples(st.sampled_from(["", "-"]), st.integers(0, 10**12), st.integers(0, 999)).map(
    lambda parts: f"{parts[0]}{parts[1]}.{parts[2]}"
)
_plain = st.one_of(
    st.builds(ast.StringLiteral, _texts, _at),
    st.builds(ast.IntLiteral, st.integers(-(2**63), 2**63 - 1), _at),
    _floats.map(lambda text: ast.FloatLiteral(float(text), text, NOWHERE)),
    st.builds(ast.BoolLiteral, st.booleans(), _at),
    st.builds(ast.DateLiteral, _texts, _at),
    st.builds(ast.DateTimeLiteral, _texts, _at),
)
_nulls = st.builds(ast.NullLiteral, _at)
_lists = st.recursive(
    st.builds(ast.ListLiteral, st.lists(st.one_of(_plain, _nulls), max_size=3).map(tuple), _at),
    lambda inner: st.builds(ast.ListLiteral, st.lists(inner, max_size=2).map(tuple), _at),
    max_leaves=4,
)
_literals = st.one_of(_plain, _lists)
_now = st.builds(ast.NowCall, _at)
_values = st.one_of(_literals, _nulls, _variables, _now)


def _calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    nearest = st.builds(ast.Nearest, _properties, inner, _at)
    bm25 = st.builds(ast.Bm25, inner, inner, _at)
    rankings = st.tuples(st.one_of(nearest, bm25), st.one_of(nearest, bm25))
    distinct = st.sampled_from([ast.AggregateFunction.COUNT, ast.AggregateFunction.COLLECT])
    return st.one_of(
        nearest,
        bm25,
        _text_calls(inner),
        st.builds(ast.Rrf, rankings, st.one_of(st.none(), inner), _at),
        st.builds(ast.AggregateCall, st.sampled_from(ast.AggregateFunction), inner, st.just(False), _at),
        st.builds(ast.AggregateCall, distinct, inner, st.just(True), _at),
        st.builds(
            ast.AggregateCall,
            st.just(ast.AggregateFunction.COUNT),
            st.builds(ast.Star, _at),
            st.just(False),
            _at,
        ),
    )


def _text_calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[ast.TextCall]:
    two = st.sampled_from([ast.TextFunction.SEARCH, ast.TextFunction.MATCH_TEXT])
    return st.one_of(
        st.builds(ast.TextCall, two, inner, inner, st.none(), _at),
        st.builds(
            ast.TextCall, st.just(ast.TextFunction.FUZZY), inner, inner, st.one_of(st.none(), inner), _at
        ),
    )


_aliases = st.builds(ast.AliasReference, _idents, _at)
_leaves = st.one_of(_variables, _properties, _literals, _nulls, _now, _aliases)
_expressions = st.recursive(_leaves, _calls, max_leaves=4)

_symbols = [op for op in ast.Operator if op is not ast.Operator.IN]
_comparisons = st.one_of(
    st.builds(ast.ComparisonCondition, _expressions, st.sampled_from(_symbols), _expressions, _at),
    st.builds(
        ast.ComparisonCondition,
        _expressions,
        st.just(ast.Operator.IN),
        st.one_of(_lists, _variables, _properties),
        _at,
    ),
    st.builds(ast.NullTest, _expressions, st.booleans(), _at),
    _text_calls(_leaves),
)


def _logic(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    terms = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ast.AndCondition, terms, _at),
        st.builds(ast.OrCondition, terms, _at),
        st.builds(ast.NotCondition, inner, _at),
    )


_conditions = st.recursive(_comparisons, _logic, max_leaves=5)
_bindings = st.builds(
    ast.Binding,
    _variables,
    _name(_type_names),
    st.lists(st.builds(ast.PropertyMatch, _name(), _values, _at), max_size=3).map(tuple),
    _at,
)
_counts = st.integers(0, 2**63 - 1)
_bounds = st.builds(ast.Bounds, _counts, st.one_of(st.none(), _counts), _at)
_traversals = st.builds(
    ast.Traversal,
    _variables,
    st.one_of(st.none(), _variables),
    _name(_edge_words),
    st.booleans(),
    st.one_of(st.none(), _bounds),
    _variables,
    st.one_of(st.none(), _variables),
    _at,
)
_filters = st.builds(ast.FilterClause, _conditions, _at)


def _blocks(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    clauses = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(st.builds(ast.Negation, clauses, _at), st.builds(ast.OptionalBlock, clauses, _at))


_clauses = st.recursive(st.one_of(_bindings, _traversals, _filters), _blocks, max_leaves=5)
_order_words = st.one_of(_words.filter(lambda word: word not in ("true", "false")))
_sortable = st.one_of(
    _variables,
    _properties,
    _literals,
    _now,
    st.builds(ast.AliasReference, _order_words, _at),
    _calls(_leaves).filter(lambda node: not isinstance(node, ast.Nearest)),
)
_orderings = st.one_of(
    st.builds(ast.OrderItem, _sortable, st.sampled_from([None, True, False]), _at),
    st.builds(ast.OrderItem, st.builds(ast.Nearest, _properties, _leaves, _at), st.none(), _at),
)
_pages = st.one_of(st.none(), st.builds(ast.IntLiteral, _counts, _at), _variables)
_matches = st.builds(
    ast.MatchClause, st.lists(_clauses, min_size=1, max_size=4).map(tuple), _at, st.booleans()
)
_orders = st.one_of(
    st.none(), st.builds(ast.OrderClause, st.lists(_orderings, min_size=1, max_size=3).map(tuple), _at)
)
_havings = st.one_of(
    st.none(), st.builds(ast.HavingClause, st.lists(_conditions, min_size=1, max_size=3).map(tuple), _at)
)
_returns = st.builds(
    ast.ReturnClause,
    st.lists(
        st.one_of(
            st.builds(ast.ReturnItem, _expressions, st.one_of(st.none(), _name()), _at),
            st.builds(ast.ReturnItem, st.builds(ast.AllProperties, _variables, _at), st.none(), _at),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    st.booleans(),
    _at,
)
_withs = st.builds(
    ast.ReturnClause,
    st.lists(
        st.builds(ast.ReturnItem, _expressions, st.one_of(st.none(), _name()), _at), min_size=1, max_size=3
    ).map(tuple),
    st.booleans(),
    _at,
)
_later_matches = st.one_of(st.none(), _matches)


def _stages(match: st.SearchStrategy[Any]) -> st.SearchStrategy[ast.Stage]:
    return st.builds(ast.Stage, match, _withs, _havings, _orders, _pages, _pages, _at)


def _reads_shaped(order: Any, page: Any) -> st.SearchStrategy[ast.Read]:
    """Return reads with such an order and such pages, some with stages."""
    none = st.just(())
    plain = st.builds(ast.Read, _matches, _returns, order, page, page, _at, _havings, none)
    stages = st.tuples(_stages(_matches), st.lists(_stages(_later_matches), max_size=1)).map(
        lambda found: (found[0], *found[1])
    )
    return st.one_of(
        plain, st.builds(ast.Read, _later_matches, _returns, order, page, page, _at, _havings, stages)
    )


_parts = st.lists(_reads_shaped(st.none(), st.none()), min_size=2, max_size=3).map(tuple)
_reads = st.one_of(
    _reads_shaped(_orders, _pages),
    st.builds(ast.Union, _parts, st.booleans(), _orders, _pages, _pages, _at),
)
_fields = st.builds(ast.BareProperty, _edge_words, _at)
_predicates = st.recursive(
    st.one_of(
        st.builds(ast.ComparisonCondition, _fields, st.sampled_from(list(ast.Operator)[:6]), _values, _at),
        st.builds(
            ast.ComparisonCondition, _fields, st.just(ast.Operator.IN), st.one_of(_lists, _variables), _at
        ),
        st.builds(ast.NullTest, _fields, st.booleans(), _at),
    ),
    _logic,
    max_leaves=4,
)
_assignments = st.lists(st.builds(ast.PropertyAssignment, _name(), _values, _at), min_size=1, max_size=3).map(
    tuple
)
_statements = st.one_of(
    st.builds(ast.InsertStatement, _name(_type_names), _assignments, _at),
    st.builds(ast.UpsertStatement, _name(_type_names), _assignments, _at),
    st.builds(ast.UpdateStatement, _name(_type_names), _assignments, _predicates, _at),
    st.builds(ast.DeleteStatement, _name(_type_names), _predicates, _at),
)
_matched_statements = st.one_of(
    st.builds(ast.InsertStatement, _name(_type_names), _assignments, _at),
    st.builds(ast.MatchedUpdateStatement, _variables, _assignments, _at),
    st.builds(ast.MatchedDeleteStatement, _variables, _at),
)
_writes = st.one_of(
    st.builds(ast.Write, st.lists(_statements, min_size=1, max_size=3).map(tuple), _at),
    st.builds(ast.Write, st.lists(_matched_statements, min_size=1, max_size=3).map(tuple), _at, _matches),
)
_types = st.one_of(
    st.builds(PropertyType, st.sampled_from(Scalar), st.booleans(), st.booleans()),
    st.builds(PropertyType, st.just(Scalar.F32), st.booleans(), vector=st.integers(0, 2**31 - 1)),
)
_parameters = st.lists(
    st.builds(ast.ParameterDeclaration, _words, _types, _at), max_size=3, unique_by=lambda item: item.name
).map(tuple)
_notes = st.one_of(st.none(), _texts)
queries = st.builds(ast.Query, _name(), _parameters, _notes, _notes, st.one_of(_reads, _writes), _at)
files = st.builds(ast.File, st.lists(queries, max_size=3).map(tuple))


def without_places(node: Any) -> Any:
    """Return a tree whose spans are all the same, so that trees compare by what was written."""
    if isinstance(node, tuple):
        return tuple(without_places(item) for item in node)
    if isinstance(node, Span):
        return NOWHERE
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{item.name: without_places(getattr(node, item.name)) for item in fields(node)})
    return node
