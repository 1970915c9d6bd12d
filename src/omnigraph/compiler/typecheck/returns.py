"""What a read returns: columns, aggregates, sort keys and pages."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir import values as ir
from omnigraph.compiler.ir.queries import Output, PageValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import ENTITY_FUNCTION
from omnigraph.compiler.query.spelling import expression_text
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.typecheck.typed import TypedOrdering, TypedProjection
from omnigraph.compiler.types import PropertyType, Scalar

NOW_COLUMN = "now"
"""The column name of an unnamed `now()`."""
RESERVED_PARAMETER = "__nanograph_now"
"""A parameter name that cannot be declared, as in the first version."""

_FLOAT = PropertyType(Scalar.F64, nullable=True)
_GROUP_COLUMNS = (
    ast.AggregateCall,
    ast.PropertyAccess,
    ast.VariableReference,
    ast.EntityCall,
    ast.ComputedExpression,
)
"""What may stand beside an aggregate."""
_COUNT = PropertyType(Scalar.I64, nullable=True)
_TAKE_MAPS = (ir.AggregateFunction.COUNT, ir.AggregateFunction.COLLECT)


def check_projections(
    check: CheckContext, scope: Scope, node: ast.ReturnClause
) -> list[TypedProjection | None]:
    """Return the typed columns, None for each that is faulty."""
    grouped = any(isinstance(item.expression, ast.AggregateCall) for item in node.items)
    result: list[TypedProjection | None] = []
    for item in node.items:
        value = _check_projection(check, scope, item.expression)
        plain = isinstance(item.expression, _GROUP_COLUMNS)
        if grouped and not plain and value is not None:
            message = "with an aggregate, every other column must be $v, $v.property or another aggregate"
            check.report("T9", message, item.span)
            value = None
        name = item.alias.text if item.alias else column_name(item.expression)
        result.append(None if value is None else TypedProjection(name, value))
    return result


def column_name(node: ast.Expression) -> str:
    """Return the name of a column that has no alias."""
    if isinstance(node, ast.PropertyAccess):
        return f"{node.variable.name}.{node.property.text}"
    if isinstance(node, ast.VariableReference | ast.AliasReference):
        return node.name
    if isinstance(node, ast.AggregateCall):
        return column_name(node.argument)
    if isinstance(node, ast.NowCall):
        return NOW_COLUMN
    if isinstance(node, ast.TextCall):
        return node.function.value
    if isinstance(node, ast.EntityCall):
        return node.variable.name if node.function.text == ENTITY_FUNCTION else node.function.text
    if isinstance(node, ast.Nearest | ast.Bm25 | ast.Rrf):
        return type(node).__name__.lower()
    if isinstance(node, ast.ComputedExpression):
        return expression_text(node)
    return "literal"


def _check_projection(
    check: CheckContext, scope: Scope, node: ast.Expression
) -> ir.Value | ir.Aggregate | None:
    if isinstance(node, ast.AggregateCall):
        return _aggregate(check, scope, node)
    if isinstance(node, ast.AliasReference):
        hint = f"write ${node.name}" if scope.get(node.name) else None
        message = f"unsupported projection expression: {node.name!r} is not a value"
        check.report(UNCODED, message, node.span, hint)
        return None
    return check_expression(check, scope, node)


def _aggregate(check: CheckContext, scope: Scope, node: ast.AggregateCall) -> ir.Aggregate | None:
    if isinstance(node.argument, ast.AggregateCall):
        message = "unsupported projection expression: an aggregate inside an aggregate"
        check.report(UNCODED, message, node.argument.span)
        return None
    argument = check_expression(check, scope, node.argument)
    if argument is None:
        return None
    if isinstance(argument, ir.EntityId) and isinstance(node.argument, ast.VariableReference):
        # Nodes of different types may have equal ids, and are counted apart.
        united = node.distinct and check.variables[argument.variable].more_types
        argument = ir.EntityKey(argument.variable, argument.optional) if united else argument
    function, type_ = node.function, argument.type
    shaped = type_.is_list or type_.is_vector or (type_.is_map and function not in _TAKE_MAPS)
    numeric = type_.scalar.is_numeric and not shaped
    result = replace(type_, nullable=True)
    problem = None
    if function is ir.AggregateFunction.COUNT:
        result = _COUNT
    elif function in (ir.AggregateFunction.SUM, ir.AggregateFunction.AVG):
        result = _FLOAT
        problem = None if numeric else "a number"
    elif function is ir.AggregateFunction.COLLECT:
        result = replace(type_, nullable=True, is_list=True)
        problem = "a scalar value" if shaped else None
    elif shaped:
        problem = "a scalar value"
    if problem is not None:
        check.report("T8", f"{node.function} needs {problem}, found {type_}", node.argument.span)
        return None
    return ir.Aggregate(function, argument, node.distinct, result)


class OrderCheck:
    """Check the sort keys of one query against its columns."""

    def __init__(
        self, check: CheckContext, scope: Scope, read: ast.Read, columns: list[TypedProjection | None]
    ) -> None:
        self.check, self.scope, self.read, self.columns = check, scope, read, columns
        self.grouped = any(isinstance(item.expression, ast.AggregateCall) for item in read.returns.items)
        # Of two columns with one name the later is the one that is shown.
        self.positions = {
            item.alias.text if item.alias else column_name(item.expression): at
            for at, item in enumerate(read.returns.items)
        }
        self.by_value = {column.value: at for at, column in enumerate(columns) if column is not None}

    def run(self) -> list[TypedOrdering | None]:
        """Return the typed sort keys, None for each that is faulty."""
        orderings = self.read.order.items if self.read.order else ()
        result = [self._ordering(item) for item in orderings]
        kinds = [self._score(item.value) if item else None for item in result]
        pairs = list(zip(orderings, kinds, strict=True))
        for item, score in pairs:
            if self.read.limit is None and isinstance(score, ir.VectorDistance):
                self.check.report("T17", "order by nearest needs a limit", item.span)
            if self.read.limit is None and isinstance(score, ir.RankFusion):
                self.check.report("T21", "order by rrf needs a limit", item.span)
        if any(isinstance(score, ir.VectorDistance) for score in kinds):
            for item, score in pairs:
                alias = isinstance(item.expression, ast.AliasReference)
                if alias and not isinstance(score, ir.VectorDistance):
                    message = "order by nearest cannot be combined with an alias ordering"
                    self.check.report("T18", message, item.span, "order by the value itself, as $v.p")
        return result

    def _score(self, value: ir.Value | Output) -> ir.Value | ir.Aggregate | None:
        if not isinstance(value, Output):
            return value
        column = self.columns[value.projection]
        return column.value if column else None

    def _ordering(self, item: ast.OrderItem) -> TypedOrdering | None:
        node = item.expression
        if isinstance(node, ast.AliasReference):
            value = self._alias(node)
        elif isinstance(
            node,
            ast.PropertyAccess
            | ast.VariableReference
            | ast.EntityCall
            | ast.TextCall
            | ast.Nearest
            | ast.Bm25
            | ast.Rrf
            | ast.AggregateCall
            | ast.ComputedExpression,
        ):
            value = self._value(node)
        else:
            message = "unsupported ordering expression: order by a property, a search function or a column"
            self.check.report(UNCODED, message, node.span)
            return None
        if value is None:
            return None
        score = self._score(value)
        if score is not None and (score.type.is_list or score.type.is_vector or score.type.is_map):
            self.check.report(UNCODED, f"cannot order by a value of type {score.type}", node.span)
            return None
        if isinstance(score, ir.TextScore | ir.RankFusion):
            return TypedOrdering(value, True)
        if isinstance(score, ir.VectorDistance):
            return TypedOrdering(value, False)
        return TypedOrdering(value, bool(item.descending))

    def _alias(self, node: ast.AliasReference) -> ir.Value | Output | None:
        position = self.positions.get(node.name)
        if position is None:
            message = (
                f"unsupported ordering expression: no returned column is called {node.name!r} (unknown alias)"
            )
            self.check.report(UNCODED, message, node.span, suggest(node.name, self.positions))
            return None
        return self._column(position)

    def _value(self, node: ast.Expression) -> ir.Value | Output | None:
        """Return the value to sort by; grouped and distinct rows have only their columns."""
        if isinstance(node, ast.AggregateCall):
            value: ir.Value | ir.Aggregate | None = _aggregate(self.check, self.scope, node)
        else:
            value = check_expression(self.check, self.scope, node)
        if value is None:
            return None
        if not isinstance(value, ir.Aggregate) and not self.grouped and not self.read.returns.distinct:
            return value
        if value in self.by_value:
            return Output(self.by_value[value])
        if len(self.by_value) < len(self.columns) and None in self.columns:
            return None
        if isinstance(value, ir.Aggregate):
            message = "unsupported ordering expression: an aggregate must also be returned"
        else:
            rows = "groups" if self.grouped else "distinct rows"
            message = f"unsupported ordering expression: {rows} can be ordered by returned columns only"
        self.check.report(UNCODED, message, node.span)
        return None

    def _column(self, position: int) -> ir.Value | Output | None:
        column = self.columns[position]
        if column is None:
            return None
        if self.grouped or self.read.returns.distinct or isinstance(column.value, ir.Aggregate):
            return Output(position)
        return column.value


def check_page(check: CheckContext, node: ast.PageValue | None, word: str) -> PageValue | None:
    """Return the number of rows of `limit` or `skip`: a literal or an integer parameter."""
    if node is None:
        return None
    if isinstance(node, ast.IntLiteral):
        return ir.Constant(node.value, ir.I64)
    declared = check.parameters.get(node.name)
    if declared is None:
        check.report(
            UNCODED, f"{word} takes an integer or a parameter, ${node.name} is not declared", node.span
        )
        return None
    if declared.is_list or declared.nullable or not declared.scalar.is_integer:
        message = f"{word} needs a non-nullable integer parameter, ${node.name} is {declared}"
        check.report(UNCODED, message, node.span)
        return None
    return ir.Parameter(node.name, declared)
