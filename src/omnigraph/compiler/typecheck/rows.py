"""The row that a statement of a mutation works on: its properties are written bare."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.values import EdgeEnd, End, EntityId, PropertyValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.patterns.united import report_no_property
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.types import Scalar

END_NAMES = ("from", "to")
ID_NAME = "id"
ONLY_NULL_HINT = "only `is null` and `is not null` ask for a blob"


def check_row_value(
    check: CheckContext, scope: Scope, node: ast.BareProperty, blobs: bool = False
) -> PropertyValue | EntityId | EdgeEnd | None:
    """Return the value that the row has; with `blobs` it may be a blob, of which only `is null` is asked."""
    owner = scope.row
    if owner is None:
        hint = f"write ${node.name}" if node.name in check.parameters else None
        message = f"no value is called {node.name!r} here: there is no stored row whose property it could be"
        check.report(UNCODED, message, node.span, hint or f'a string needs quotes: "{node.name}"')
        return None
    if node.name == ID_NAME and ID_NAME not in owner.by_name:
        return EntityId(scope.row_variable)
    if isinstance(owner, EdgeType) and node.name in END_NAMES:
        return EdgeEnd(scope.row_variable, End.SOURCE if node.name == "from" else End.TARGET)
    item = owner.by_name.get(node.name)
    if item is None:
        report_no_property(check, "T11", owner, ast.Identifier(node.name, node.span))
        return None
    if item.type.scalar is Scalar.BLOB and not blobs:
        message = f"the Blob property {owner.name}.{item.name} cannot be used as a value"
        check.report("T11", message, node.span, ONLY_NULL_HINT)
        return None
    return PropertyValue(scope.row_variable, item)
