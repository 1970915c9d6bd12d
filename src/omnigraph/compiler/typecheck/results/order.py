"""Sort keys of a read, against the columns that it returns."""

from __future__ import annotations

from omnigraph.compiler.ir import values as ir
from omnigraph.compiler.ir.queries import Output
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.results.aggregates import check_aggregate, has_aggregate
from omnigraph.compiler.typecheck.results.columns import ResultColumns
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.typecheck.typed import TypedOrdering


class OrderCheck:
    """Check the sort keys of one query against its columns."""

    def __init__(
        self,
        check: CheckContext,
        scope: Scope,
        columns: ResultColumns,
        order: ast.OrderClause | None,
        has_limit: bool,
    ) -> None:
        """Take the sort keys and the checked columns."""
        self.check, self.scope, self.columns, self.order = check, scope, columns, order
        self.has_limit = has_limit
        self.of_columns = columns.grouped or columns.distinct
        """Whether rows are groups or distinct, so that they have only their columns."""

    def run(self) -> list[TypedOrdering | None]:
        """Return the typed sort keys, None for each that is faulty."""
        orderings = self.order.items if self.order else ()
        result = [self._ordering(item) for item in orderings]
        kinds = [self._score(item.value) if item else None for item in result]
        pairs = list(zip(orderings, kinds, strict=True))
        for item, score in pairs:
            if not self.has_limit and isinstance(score, ir.VectorDistance):
                self.check.report("T17", "order by nearest needs a limit", item.span)
            if not self.has_limit and isinstance(score, ir.RankFusion):
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
        column = self.columns.found[value.projection]
        return column.value if column else None

    def _ordering(self, item: ast.OrderItem) -> TypedOrdering | None:
        node = item.expression
        value: ir.Value | Output | None
        if isinstance(node, ast.AliasReference):
            value = self._alias(node)
        elif self.of_columns and isinstance(node, ast.VariableReference) and self._is_bound(node):
            value = self._column(self.columns.positions[node.name])
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

    def _is_bound(self, node: ast.VariableReference) -> bool:
        """Return whether a variable is one that the `with` binds whose rows are sorted."""
        return self.columns.binds and node.name in self.columns.positions

    def _alias(self, node: ast.AliasReference) -> ir.Value | Output | None:
        if self.columns.binds:
            hint = f"write ${node.name}"
            self.check.report(UNCODED, f"with binds variables: {node.name!r} is none", node.span, hint)
            return None
        position = self.columns.positions.get(node.name)
        if position is None:
            message = (
                f"unsupported ordering expression: no returned column is called {node.name!r} (unknown alias)"
            )
            self.check.report(UNCODED, message, node.span, self._hint(node.name))
            return None
        return self._column(position)

    def _hint(self, name: str) -> str | None:
        """Return how the meant column can be written: `p.name` is not a word, `$p.name` is a value."""
        parts = (column for column in self.columns.positions if column.endswith(f".{name}"))
        if part := next(parts, None):
            return f"write ${part}"
        return suggest(name, [column for column in self.columns.positions if column.isidentifier()])

    def _value(self, node: ast.Expression) -> ir.Value | Output | None:
        """Return the value to sort by; grouped and distinct rows have only their columns."""
        value: ir.Value | ir.Aggregate | None
        if isinstance(node, ast.AggregateCall):
            value = check_aggregate(self.check, self.scope, node)
        elif has_aggregate(node):
            value = self.columns.check_on_groups(node)
        else:
            scope = self.columns.row_scope() if self.columns.binds else self.scope
            value = check_expression(self.check, scope, node)
        if value is None:
            return None
        aggregated = has_aggregate(node)
        if not isinstance(value, ir.Aggregate) and not aggregated and not self.of_columns:
            return value
        if value in self.columns.by_value:
            return Output(self.columns.by_value[value])
        if self.columns.has_faults:
            return None
        if aggregated:
            listed = "listed in with" if self.columns.binds else "returned"
            message = f"unsupported ordering expression: an aggregate must also be {listed}"
        else:
            rows = "groups" if self.columns.grouped else "distinct rows"
            listed = "what with lists" if self.columns.binds else "returned columns"
            message = f"unsupported ordering expression: {rows} can be ordered by {listed} only"
        self.check.report(UNCODED, message, node.span)
        return None

    def _column(self, position: int) -> ir.Value | Output | None:
        column = self.columns.found[position]
        if column is None:
            return None
        if self.of_columns or isinstance(column.value, ir.Aggregate):
            return Output(position)
        return column.value
