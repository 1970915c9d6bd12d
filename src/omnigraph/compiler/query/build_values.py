"""Grammar rules to syntax tree: literals, expressions and conditions."""

from __future__ import annotations

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import ExpressionBuilder, as_condition
from omnigraph.compiler.query.rule_children import (
    Nodes,
    Unacceptable,
    drop_tokens,
    full_span,
    has_token,
    read_integer,
    read_string,
    token_span,
    variable_of,
)
from omnigraph.compiler.query.spelling import literal_text


class ValueBuilder(ExpressionBuilder):
    """Build values and conditions; every method takes the children of its rule, tokens included."""

    # Conditions

    def disjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a or b`."""
        terms = drop_tokens(nodes)
        return terms[0] if len(terms) == 1 else ast.OrCondition(terms, full_span(terms))

    def conjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a and b`."""
        terms = drop_tokens(nodes)
        return terms[0] if len(terms) == 1 else ast.AndCondition(terms, full_span(terms))

    def inverse(self, nodes: Nodes) -> ast.NotCondition:
        """Build `not a`."""
        return ast.NotCondition(nodes[1], full_span(nodes))

    def truth(self, nodes: Nodes) -> ast.Condition:
        """Build a Bool value that is a condition; one in parentheses is the condition itself."""
        return as_condition(nodes[0])

    def comparison(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build `a op b`."""
        return ast.ComparisonCondition(nodes[0], ast.Operator(str(nodes[1])), nodes[2], full_span(nodes))

    def lead_comparison(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build a comparison that begins a clause with a bare variable."""
        return self.comparison([variable_of(nodes[0]), *nodes[1:]])

    def lead_property(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build `$a contains $b.p` at the beginning of a clause."""
        return self.comparison([variable_of(nodes[0]), nodes[1], self.property(nodes[2:])])

    def null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `a is null`."""
        return ast.NullTest(nodes[0], has_token(nodes, "NOT"), full_span(nodes))

    def lead_null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `$a is null` at the beginning of a clause."""
        return self.null_test([variable_of(nodes[0]), *nodes[1:]])

    def row_comparison(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build a comparison in `where`: a bare word at its left is a property, whatever it is called."""
        return self.comparison([_as_field(nodes[0]), *nodes[1:]])

    def row_null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `p is null` in `where`."""
        return self.null_test([_as_field(nodes[0]), *nodes[1:]])

    def field(self, nodes: Nodes) -> ast.BareProperty:
        """Build a property name in a mutation."""
        return ast.BareProperty(str(nodes[0]), token_span(nodes[0]))

    # Expressions

    def variable(self, nodes: Nodes) -> ast.VariableReference:
        """Build `$v`."""
        return variable_of(nodes[0])

    def property(self, nodes: Nodes) -> ast.PropertyAccess:
        """Build `$v.p`."""
        return ast.PropertyAccess(variable_of(nodes[0]), nodes[2], full_span(nodes))

    def alias(self, nodes: Nodes) -> ast.AliasReference:
        """Build a reference to a returned column."""
        return ast.AliasReference(str(nodes[0]), token_span(nodes[0]))

    any_alias = alias

    def name(self, nodes: Nodes) -> ast.Identifier:
        """Build a name from any word."""
        return ast.Identifier(str(nodes[0]), token_span(nodes[0]))

    edge_name = name
    plain_edge = name

    def now(self, nodes: Nodes) -> ast.NowCall:
        """Build `now()`."""
        return ast.NowCall(full_span(nodes))

    def nearest(self, nodes: Nodes) -> ast.Nearest:
        """Build `nearest(…)`."""
        return ast.Nearest(self.property(nodes[2:5]), nodes[6], full_span(nodes))

    def text_call(self, nodes: Nodes) -> ast.TextCall:
        """Build `search(…)`, `match_text(…)` or `fuzzy(…)`."""
        function = ast.TextFunction(str(nodes[0]))
        edits = nodes[6] if len(nodes) > 6 else None
        if edits is not None and function is not ast.TextFunction.FUZZY:
            raise Unacceptable(f"{function} takes two values, expected ')'", edits.span)
        return ast.TextCall(function, nodes[2], nodes[4], edits, full_span(nodes))

    def bm25(self, nodes: Nodes) -> ast.Bm25:
        """Build `bm25(…)`."""
        return ast.Bm25(nodes[2], nodes[4], full_span(nodes))

    def rrf(self, nodes: Nodes) -> ast.Rrf:
        """Build `rrf(…)`."""
        k = nodes[6] if len(nodes) > 6 else None
        return ast.Rrf((nodes[2], nodes[4]), k, full_span(nodes))

    def aggregate(self, nodes: Nodes) -> ast.AggregateCall:
        """Build an aggregate; only `count` and `collect` take `distinct`."""
        distinct = has_token(nodes, "DISTINCT")
        function = ast.AggregateFunction(str(nodes[0]))
        if distinct and function not in (ast.AggregateFunction.COUNT, ast.AggregateFunction.COLLECT):
            raise Unacceptable(f"{function} does not take distinct, expected a value", token_span(nodes[2]))
        return ast.AggregateCall(function, nodes[-2], distinct, full_span(nodes))

    def count_rows(self, nodes: Nodes) -> ast.AggregateCall:
        """Build `count(*)`; no other aggregate takes all rows."""
        function = ast.AggregateFunction(str(nodes[0]))
        star = ast.Star(token_span(nodes[2]))
        if function is not ast.AggregateFunction.COUNT:
            raise Unacceptable(f"{function} does not take *, expected a value", star.span)
        return ast.AggregateCall(function, star, False, full_span(nodes))

    # Literals

    def list(self, nodes: Nodes) -> ast.ListLiteral | ast.ListExpression:
        """Build a list; of literals alone it is one."""
        items = drop_tokens(nodes)
        kind = ast.ListLiteral if all(map(ast.is_literal, items)) else ast.ListExpression
        return kind(items, full_span(nodes))

    def moment(self, nodes: Nodes) -> ast.DateLiteral | ast.DateTimeLiteral:
        """Build `date("…")` or `datetime("…")`."""
        text, span = read_string(nodes[2]), full_span(nodes)
        return ast.DateLiteral(text, span) if nodes[0] == "date" else ast.DateTimeLiteral(text, span)

    def string(self, nodes: Nodes) -> ast.StringLiteral:
        """Build a string."""
        return ast.StringLiteral(read_string(nodes[0]), token_span(nodes[0]))

    def float(self, nodes: Nodes) -> ast.FloatLiteral:
        """Build a float."""
        text = "".join(nodes)
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise Unacceptable("the number is too large for F64", full_span(nodes))
        return ast.FloatLiteral(value, text, full_span(nodes))

    def int(self, nodes: Nodes) -> ast.IntLiteral:
        """Build a whole number."""
        return ast.IntLiteral(read_integer(nodes[-1], len(nodes) == 2), full_span(nodes))

    def bool(self, nodes: Nodes) -> ast.BoolLiteral:
        """Build `true` or `false`."""
        return ast.BoolLiteral(nodes[0] == "true", token_span(nodes[0]))

    def null(self, nodes: Nodes) -> ast.NullLiteral:
        """Build `null`."""
        return ast.NullLiteral(token_span(nodes[0]))


def _as_field(node: ast.Expression) -> ast.Expression:
    """Return a property that is called like a literal as what it is."""
    if isinstance(node, ast.BoolLiteral | ast.NullLiteral):
        return ast.BareProperty(literal_text(node), node.span)
    return node
