"""How expressions and conditions are written."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omnigraph.compiler.query import ast
from omnigraph.compiler.strings import quote

_OR, _AND = 1, 2
_SUMS = (ast.Arithmetic.ADD, ast.Arithmetic.SUBTRACT)
_FACTORS = (ast.Arithmetic.MULTIPLY, ast.Arithmetic.DIVIDE, ast.Arithmetic.REMAINDER)
_INDEXABLE = (ast.VariableReference, ast.PropertyAccess, ast.FunctionCall, ast.IndexAccess)
_WORD_OPERATORS = (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH, ast.Operator.IN)


def expression_text(node: ast.Expression) -> str:
    """Return an expression as it is written."""
    match node:
        case ast.VariableReference():
            return f"${node.name}"
        case ast.PropertyAccess():
            return f"${node.variable.name}.{node.property.text}"
        case ast.AliasReference() | ast.BareProperty():
            return node.name
        case ast.NowCall():
            return "now()"
        case ast.EntityCall():
            return f"{node.function.text}(${node.variable.name})"
        case ast.TextCall():
            edits = "" if node.max_edits is None else f", {expression_text(node.max_edits)}"
            return f"{node.function}({expression_text(node.field)}, {expression_text(node.text)}{edits})"
        case ast.Nearest():
            return f"nearest({expression_text(node.field)}, {expression_text(node.query)})"
        case ast.Bm25():
            return f"bm25({expression_text(node.field)}, {expression_text(node.text)})"
        case ast.Rrf():
            parts = [*node.rankings, *([] if node.k is None else [node.k])]
            return f"rrf({', '.join(expression_text(part) for part in parts)})"
        case ast.AggregateCall():
            distinct = "distinct " if node.distinct else ""
            argument = "*" if isinstance(node.argument, ast.Star) else expression_text(node.argument)
            return f"{node.function}({distinct}{argument})"
        case ast.ComputedExpression():
            return _computed_text(node)
        case _:
            return literal_text(node)


def _computed_text(node: ast.ComputedExpression) -> str:
    match node:
        case ast.Operation():
            factor = node.operator in _FACTORS
            left = _enclose(node.left, _SUMS if factor else ())
            right = _enclose(node.right, (*_SUMS, *_FACTORS) if factor else _SUMS)
            return f"{left} {node.operator} {right}"
        case ast.Negative():
            return f"(-{_enclose(node.operand, (*_SUMS, *_FACTORS))})"
        case ast.IndexAccess():
            text = expression_text(node.list)
            bare = isinstance(node.list, _INDEXABLE)
            return f"{text if bare else f'({text})'}[{expression_text(node.position)}]"
        case ast.ListExpression():
            return f"[{', '.join(expression_text(item) for item in node.items)}]"
        case ast.FunctionCall():
            return f"{node.name.text}({', '.join(expression_text(item) for item in node.arguments)})"
        case ast.CaseExpression():
            branches = [
                f"when {condition_text(item.condition)} then {expression_text(item.value)}"
                for item in node.branches
            ]
            last = "" if node.otherwise is None else f"else {expression_text(node.otherwise)} "
            return f"case {' '.join(branches)} {last}end"
        case ast.ListTest():
            head = f"{node.quantifier}(${node.variable.name} in {expression_text(node.list)}"
            return f"{head} where {condition_text(node.condition)})"
        case ast.ConditionValue():
            return f"({condition_text(node.condition)})"
        case ast.BlockValue():
            return f"{node.function} {_block(node.clauses)}"
    raise AssertionError(f"no expression is a {type(node).__name__}")


def _enclose(node: ast.Expression, operators: Collection[ast.Arithmetic]) -> str:
    text = expression_text(node)
    return f"({text})" if isinstance(node, ast.Operation) and node.operator in operators else text


def literal_text(node: ast.Literal) -> str:
    """Return a literal as it is written."""
    match node:
        case ast.StringLiteral():
            return quote(node.value)
        case ast.IntLiteral():
            return str(node.value)
        case ast.FloatLiteral():
            return node.text
        case ast.BoolLiteral():
            return "true" if node.value else "false"
        case ast.NullLiteral():
            return "null"
        case ast.DateLiteral():
            return f"date({quote(node.text)})"
        case ast.DateTimeLiteral():
            return f"datetime({quote(node.text)})"
        case ast.ListLiteral():
            return f"[{', '.join(literal_text(item) for item in node.items)}]"


def clause_text(node: ast.Clause) -> str:
    """Return a clause on one line."""
    match node:
        case ast.Binding():
            return _binding(node)
        case ast.Traversal():
            return _traversal(node)
        case ast.FilterClause():
            return filter_text(node.condition)
        case ast.Negation():
            return f"not {_block(node.clauses)}"
        case ast.OptionalBlock():
            return f"optional {_block(node.clauses)}"


def _block(clauses: Sequence[ast.Clause]) -> str:
    return f"{{ {'  '.join(clause_text(item) for item in clauses)} }}"


def filter_text(node: ast.Condition) -> str:
    """Return a condition as a clause of its own, where `$a contains $b` would be a traversal."""
    return _condition(node, 0, leads=True)


def condition_text(node: ast.Condition) -> str:
    """Return a condition as it is written inside another or in `where`."""
    return _condition(node, 0, leads=False)


def _condition(node: ast.Condition, outer: int, leads: bool) -> str:
    """Return a condition, in parentheses when its own strength is not above the outer one's."""
    match node:
        case ast.OrCondition() | ast.AndCondition():
            own, word = (_OR, " or ") if isinstance(node, ast.OrCondition) else (_AND, " and ")
            enclosed = own <= outer
            terms = [
                _condition(term, own, leads and at == 0 and not enclosed)
                for at, term in enumerate(node.terms)
            ]
            text = word.join(terms)
            return f"({text})" if enclosed else text
        case ast.NotCondition():
            inner = _condition(node.term, _AND, leads=False)
            return f"not {inner}"
        case ast.NullTest():
            return f"{expression_text(node.operand)} is {'not null' if node.negated else 'null'}"
        case ast.TextCall():
            return expression_text(node)
        case ast.TruthTest():
            return expression_text(node.operand)
        case ast.ComparisonCondition():
            text = f"{expression_text(node.left)} {node.operator} {expression_text(node.right)}"
            both = isinstance(node.left, ast.VariableReference) and isinstance(
                node.right, ast.VariableReference
            )
            return f"({text})" if leads and both and node.operator in _WORD_OPERATORS else text


def _binding(node: ast.Binding) -> str:
    types = "|".join(item.text for item in (node.type_name, *node.more))
    head = f"${node.variable.name}: {types}"
    if not node.matches:
        return head
    inner = ", ".join(f"{item.property.text}: {expression_text(item.value)}" for item in node.matches)
    return f"{head} {{ {inner} }}"


def _traversal(node: ast.Traversal) -> str:
    edge = "|".join(item.text for item in (node.edge, *node.more))
    edge = f"<{edge}>" if node.undirected else edge
    if node.edge_variable is not None:
        edge = f"${node.edge_variable.name}:{edge}"
    if node.bounds is not None:
        high = "" if node.bounds.high is None else node.bounds.high
        edge += f"{{{node.bounds.low},{high}}}"
    length = f" as ${node.length.name}" if node.length is not None else ""
    path = "" if node.path is None else _path(node.path)
    return f"${node.source.name} {edge} ${node.target.name}{length}{path}"


def _path(node: ast.FoundPath) -> str:
    words = [f"as path ${node.variable.name}"]
    if node.shortest is not None:
        count, weight = node.shortest.count, node.shortest.weight
        words = ["shortest", *([] if count is None else [str(count)]), *words]
        words[-1:-1] = [] if weight is None else [f"by {weight.text}"]
    return f" {' '.join(words)}"
