"""Grammar rules to syntax tree: what computes, with the precedence of its operators."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.rule_children import (
    I64_MAX,
    Nodes,
    Unacceptable,
    full_span,
    select_kind,
    token_span,
    variable_of,
)

_QUANTIFIERS = frozenset(item.value for item in ast.Quantifier)
_FACTORS = frozenset({"*", "/", "%"})
TYPE_FUNCTION = "type"
"""The function that returns the name of a node's or edge's type."""
ENTITY_FUNCTION = "entity"
"""The function that returns a whole node or edge."""
ENTITY_FUNCTIONS = (TYPE_FUNCTION, ENTITY_FUNCTION)
MAX_EXPRESSION_DEPTH = 100
"""The deepest tree of operators, calls and `case` in one expression, in levels."""


def as_condition(node: Any) -> ast.Condition:
    """Return a value as a condition."""
    if isinstance(node, ast.ConditionValue):
        return node.condition
    if isinstance(node, ast.TextCall):
        return node
    return ast.TruthTest(node, node.span)


def as_value(node: Any) -> ast.Expression:
    """Return a condition as a value."""
    if isinstance(node, ast.TruthTest):
        return node.operand
    if isinstance(node, ast.TextCall):
        return node
    return ast.ConditionValue(node, node.span)


class ExpressionBuilder(Transformer[Token, Any]):
    """Build expressions that compute; every method takes the children of its rule, tokens included."""

    def group(self, nodes: Nodes) -> ast.Expression:
        """Drop the parentheses: the tree keeps the grouping."""
        return as_value(nodes[1])

    def chain(self, nodes: Nodes) -> ast.Expression:
        """Build operands and the operators between them: factors bind before sums, then from the left."""
        sums: list[Any] = [nodes[0]]
        for operator, operand in zip(nodes[1::2], nodes[2::2], strict=True):
            if operator in _FACTORS:
                sums[-1] = _operation(sums[-1], operator, operand)
            else:
                sums += [operator, operand]
        found: ast.Expression = sums[0]
        for operator, operand in zip(sums[1::2], sums[2::2], strict=True):
            found = _operation(found, operator, operand)
        return found

    def negative(self, nodes: Nodes) -> ast.Expression:
        """Build `-value`; of a number it is a literal."""
        operand, span = nodes[1], full_span(nodes)
        if isinstance(operand, ast.IntLiteral) and operand.value != -I64_MAX - 1:
            return ast.IntLiteral(-operand.value, span)
        if isinstance(operand, ast.FloatLiteral):
            text = operand.text[1:] if operand.text.startswith("-") else f"-{operand.text}"
            return ast.FloatLiteral(-operand.value, text, span)
        return ast.Negative(operand, span)

    def index(self, nodes: Nodes) -> ast.IndexAccess:
        """Build `list[position]`."""
        return ast.IndexAccess(nodes[0], nodes[2], full_span(nodes))

    def call(self, nodes: Nodes) -> ast.FunctionCall | ast.EntityCall:
        """Build `name(…)`."""
        name, arguments = ast.Identifier(str(nodes[0]), token_span(nodes[0])), tuple(nodes[2:-1:2])
        if (
            name.text in ENTITY_FUNCTIONS
            and len(arguments) == 1
            and isinstance(arguments[0], ast.VariableReference)
        ):
            return ast.EntityCall(name, arguments[0], full_span(nodes))
        return ast.FunctionCall(name, arguments, full_span(nodes))

    def block_value(self, nodes: Nodes) -> ast.BlockValue:
        """Build `exists { … }` or `count { … }`."""
        if nodes[0] not in list(ast.BlockFunction):
            message = f"unexpected '{{', {nodes[0]} takes a value in parentheses"
            raise Unacceptable(message, token_span(nodes[1]), "patterns have exists { … } and count { … }")
        return ast.BlockValue(ast.BlockFunction(str(nodes[0])), tuple(nodes[2:-1]), full_span(nodes))

    def list_test(self, nodes: Nodes) -> ast.ListTest:
        """Build `any($x in list where …)`."""
        if nodes[0] not in _QUANTIFIERS:
            message = f"{nodes[0]} does not take a condition, expected any, all or none"
            raise Unacceptable(message, token_span(nodes[0]))
        quantifier = ast.Quantifier(str(nodes[0]))
        return ast.ListTest(quantifier, variable_of(nodes[2]), nodes[4], nodes[6], full_span(nodes))

    def branch(self, nodes: Nodes) -> ast.CaseBranch:
        """Build `when … then …`."""
        return ast.CaseBranch(nodes[1], nodes[3], full_span(nodes))

    def case(self, nodes: Nodes) -> ast.CaseExpression:
        """Build `case … end`."""
        branches = select_kind(nodes, ast.CaseBranch)
        otherwise = nodes[-2] if len(nodes) > len(branches) + 2 else None
        return ast.CaseExpression(branches, otherwise, full_span(nodes))


def _operation(left: Any, operator: Token, right: Any) -> ast.Operation:
    return ast.Operation(left, ast.Arithmetic(str(operator)), right, left.span.to(right.span))


def check_depth(root: ast.Expression | ast.Condition) -> None:
    """Refuse an expression so deep that a reader of its tree could run out of stack."""
    left: list[tuple[ast.Expression | ast.Condition, int]] = [(root, 0)]
    while left:
        node, depth = left.pop()
        depth += isinstance(node, ast.ComputedExpression)
        if depth > MAX_EXPRESSION_DEPTH:
            raise Unacceptable(
                f"the expression is more than {MAX_EXPRESSION_DEPTH} levels deep",
                root.span,
                "group a long chain of operators with parentheses, as in (a + b) + (c + d)",
            )
        left += [(part, depth) for part in ast.parts_of(node)]
