"""The columns of a result: plain values, group keys, aggregates, and what is computed from groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.ir import values as ir
from omnigraph.compiler.ir.conditions import All, Condition
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import ENTITY_FUNCTION
from omnigraph.compiler.query.spelling import expression_text
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.conditions import check_condition
from omnigraph.compiler.typecheck.expressions import check_expression, report_unbound
from omnigraph.compiler.typecheck.patterns.united import describe_kind, have_same_shape
from omnigraph.compiler.typecheck.results.aggregates import check_aggregate, has_aggregate
from omnigraph.compiler.typecheck.results.on_groups import NotOfGroup, express_on_groups
from omnigraph.compiler.typecheck.results.stages import find_kept, name_variable, report_repeated
from omnigraph.compiler.typecheck.scope import UNCODED, Bound, CheckContext, Scope
from omnigraph.compiler.typecheck.typed import TypedProjection
from omnigraph.compiler.types import Scalar

NOW_COLUMN = "now"
"""The column name of an unnamed `now()`."""
_GROUP_COLUMNS = (
    ast.AggregateCall,
    ast.PropertyAccess,
    ast.VariableReference,
    ast.EntityCall,
    ast.ComputedExpression,
)
"""What may stand beside an aggregate."""


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column as it was written; `$v.*` is several."""

    name: str
    node: ast.Expression


class ResultColumns:
    """The checked columns of one `return`, and the aggregates that are only computed with."""

    def __init__(
        self,
        check: CheckContext,
        scope: Scope,
        returns: ast.ReturnClause,
        having: ast.HavingClause | None,
        binds: bool = False,
    ) -> None:
        """Check the columns; problems are reported. In `with` they bind variables."""
        self._check, self._scope = check, scope
        self.binds = binds
        self.distinct = returns.distinct
        self._written = [column for item in returns.items for column in self._write_out(item)]
        if binds:
            report_repeated(check, returns.items)
        in_having = having is not None and any(map(has_aggregate, having.conditions))
        self.grouped = in_having or any(has_aggregate(item.node) for item in self._written)
        self._hidden: list[ir.Aggregate] = []
        self.found: list[TypedProjection | None] = [None] * len(self._written)
        """The columns, None for each that is faulty."""
        self.by_value: dict[ir.Value | ir.Aggregate, int] = {}
        self._keys: dict[ir.Value, int] = {}
        for computed in (False, True):
            for at, item in enumerate(self._written):
                self._check_column(at, item, computed)
        # Of two columns with one name the later is the one that is shown.
        self.positions = {item.name: at for at, item in enumerate(self._written)}
        self.having = None if having is None else self._check_having(having)

    @property
    def all(self) -> list[TypedProjection]:
        """Every column without a fault, and those that are not shown."""
        hidden = [TypedProjection("", item, hidden=True) for item in self._hidden]
        return [*(item for item in self.found if item is not None), *hidden]

    @property
    def has_faults(self) -> bool:
        """Whether a column is faulty."""
        return None in self.found

    def check_on_groups(self, node: ast.Expression) -> ir.Value | None:
        """Return what an expression with aggregates computes from the columns of a group."""
        value = check_expression(self._check, self._group_scope(names=False), node)
        if value is None:
            return None
        try:
            return express_on_groups(value, self._keys)
        except NotOfGroup:
            self._report_outside(node)
            return None

    # What `omnigraph.compiler.typecheck.scope.GroupColumns` asks for

    def aggregate(self, node: ast.AggregateCall) -> ir.Value | None:
        """Return the column of an aggregate inside an expression; a hidden one if it is not returned."""
        found = check_aggregate(self._check, self._scope, node)
        if found is None:
            return None
        if found in self.by_value:
            return ir.GroupValue(self.by_value[found], found.type)
        if found not in self._hidden:
            self._hidden.append(found)
        return ir.GroupValue(len(self._written) + self._hidden.index(found), found.type)

    def column(self, node: ast.AliasReference) -> ir.Value | None:
        """Return a returned column that `having` names."""
        position = self.positions.get(node.name)
        if position is None:
            message = f"no returned column is called {node.name!r}"
            self._check.report(UNCODED, message, node.span, suggest(node.name, self.positions))
            return None
        found = self.found[position]
        return None if found is None else ir.GroupValue(position, found.value.type)

    def _group_scope(self, names: bool) -> Scope:
        found = Scope(self._scope, groups=self, names_columns=names and not self.binds)
        for name, at in self.positions.items() if names and self.binds else ():
            column = self.found[at]
            if column is not None and not find_kept(self._check, self._scope, self._written[at].node):
                found.bind(name, Bound(None, value=ir.GroupValue(at, column.value.type)))
        return found

    def row_scope(self) -> Scope:
        """Return the scope of the sort keys of a stage: what `with` binds, and what it sees."""
        found = Scope(self._scope)
        for name, at in self.positions.items():
            column, node = self.found[at], self._written[at].node
            kept = find_kept(self._check, self._scope, node)
            if kept is not None:
                found.bind(name, Bound(kept))
            elif column is not None and not isinstance(column.value, ir.Aggregate):
                found.bind(name, Bound(None, value=column.value))
        return found

    def bind(self) -> tuple[Scope, tuple[int, ...]]:
        """Return the scope of what follows a stage, and the variables that hold its columns."""
        scope = Scope()
        scope.left_behind = (self._scope.left_behind | set(self._scope.names())) - set(self.positions)
        for at, item in enumerate(self._written):
            column = self.found[at]
            kept = find_kept(self._check, self._scope, item.node)
            if kept is not None:
                # The variable may have fewer types than it ranges over, as a filter has seen to.
                types = self._check.variables[kept.slot].types
                new = self._check.new_variable(item.name, kept.kind, types, kept.optional)
                shown = replace(new, type_name=kept.type_name, more_types=kept.more_types)
                scope.bind(item.name, Bound(shown, is_own=False))
            elif column is not None:
                new = self._check.new_value(item.name, column.value.type)
                scope.bind(item.name, Bound(new, is_own=False))
            else:
                scope.bind(item.name, Bound(None))
        slots = [found.variable.slot for found in scope.own.values() if found.variable is not None]
        return scope, tuple(slots)

    def _write_out(self, item: ast.ReturnItem) -> Iterator[WrittenColumn]:
        node = item.expression
        if not isinstance(node, ast.AllProperties):
            named = item.alias.text if item.alias else column_name(node)
            yield WrittenColumn(name_variable(self._check, item) if self.binds else named, node)
            return
        for one in self._properties(node):
            read = ast.PropertyAccess(node.variable, ast.Identifier(one.name, node.span), node.span)
            yield WrittenColumn(f"{node.variable.name}.{one.name}", read)

    def _properties(self, node: ast.AllProperties) -> list[Property]:
        """Return the properties of a variable that can be read; those of all its types, if it has several."""
        check, name = self._check, node.variable.name
        found = self._scope.get(name)
        if found is None:
            report_unbound(check, self._scope, node.variable, "T6")
            return []
        if found.variable is None:
            if found.value is not None:
                check.report("T6", f"${name} is a value and has no properties", node.span)
            return []
        owners = check.owners(found.variable)
        if not owners:
            what = describe_kind(found.variable)
            check.report("T6", f"${name} is {what} and has no properties", node.span)
        shared = [
            item
            for item in (owners[0].properties if owners else ())
            if item.type.scalar is not Scalar.BLOB and have_same_shape(owners, item.name)
        ]
        if owners and not shared:
            check.report("T6", f"${name} has no property that can be read", node.span)
        return shared

    def _check_column(self, at: int, item: WrittenColumn, computed: bool) -> None:
        """Check one column, if it is computed from groups or not, as is asked."""
        node = item.node
        on_groups = not isinstance(node, ast.AggregateCall) and has_aggregate(node)
        if on_groups is not computed:
            return
        if on_groups:
            value: ir.Value | ir.Aggregate | None = self.check_on_groups(node)
        else:
            value = self._check_plain(node)
        if value is not None:
            self.found[at] = TypedProjection(item.name, value, on_groups=on_groups)
            self.by_value[value] = at
            if not on_groups and not isinstance(value, ir.Aggregate):
                self._keys[value] = at

    def _check_plain(self, node: ast.Expression) -> ir.Value | ir.Aggregate | None:
        check, scope = self._check, self._scope
        kept = find_kept(check, scope, node) if self.binds else None
        if kept is not None:
            one = ir.EntityKey if check.variables[kept.slot].more_types else ir.EntityId
            return one(kept.slot, kept.optional)
        if isinstance(node, ast.AggregateCall):
            return check_aggregate(check, scope, node)
        if isinstance(node, ast.AliasReference):
            hint = f"write ${node.name}" if scope.get(node.name) else None
            message = f"unsupported projection expression: {node.name!r} is not a value"
            check.report(UNCODED, message, node.span, hint)
            return None
        value = check_expression(check, scope, node)
        if value is not None and self.grouped and not isinstance(node, _GROUP_COLUMNS):
            message = "with an aggregate, every other column must be $v, $v.property or another aggregate"
            check.report("T9", message, node.span)
            return None
        return value

    def _report_outside(self, node: ast.Expression) -> None:
        """Report the first value outside the aggregates of an expression that is not a group key."""
        for read in _read_outside(node):
            before = len(self._check.problems)
            value = check_expression(self._check, self._scope, read)
            del self._check.problems[before:]
            if value is not None and value not in self._keys and not isinstance(value, ir.Parameter):
                message = f"{expression_text(read)} stands outside the aggregates of this expression"
                listed = "list it in with" if self.binds else "return it as a column"
                hint = f"{listed} too, so that the groups have it, or aggregate it"
                self._check.report("T9", message, read.span, hint)
                return
        listed = "what with lists" if self.binds else "returned columns"
        self._check.report("T9", f"only aggregates, {listed} and constants can stand here", node.span)

    def _check_having(self, having: ast.HavingClause) -> Condition | None:
        if not self.grouped:
            hint = "write the condition as a clause of match"
            self._check.report("T9", "having needs an aggregate", having.span, hint)
            return None
        terms = [self._check_group_condition(node) for node in having.conditions]
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return known[0] if len(known) == 1 else All(known)

    def _check_group_condition(self, node: ast.Condition) -> Condition | None:
        condition = check_condition(self._check, self._group_scope(names=True), node)
        if condition is None:
            return None
        try:
            return express_on_groups(condition, self._keys)
        except NotOfGroup:
            self._report_outside_condition(node)
            return None

    def _report_outside_condition(self, node: ast.Condition) -> None:
        self._report_outside(ast.ConditionValue(node, node.span))


def _read_outside(node: ast.Expression | ast.Condition) -> Iterator[ast.Expression]:
    """Yield what an expression reads of variables outside its aggregates."""
    if isinstance(node, ast.PropertyAccess | ast.VariableReference | ast.EntityCall):
        yield node
    elif not isinstance(node, ast.AggregateCall):
        for part in ast.parts_of(node):
            yield from _read_outside(part)


def column_name(node: ast.Expression) -> str:
    """Return the name of a column that has no alias."""
    if isinstance(node, ast.PropertyAccess):
        return f"{node.variable.name}.{node.property.text}"
    if isinstance(node, ast.VariableReference | ast.AliasReference):
        return node.name
    if isinstance(node, ast.AggregateCall):
        return node.function.value if isinstance(node.argument, ast.Star) else column_name(node.argument)
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
