"""Written types to property types."""

from __future__ import annotations

from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.types import PropertyType, Scalar

_MAX_DIMENSION = 2147483647


def resolve_type(written: ast.TypeExpr, problems: SchemaProblems) -> PropertyType:
    """Return the property type of a written type; report what is not allowed."""
    scalar = Scalar(written.base)
    if written.vector is not None:
        if not 1 <= written.vector <= _MAX_DIMENSION:
            problems.add(
                Code.VECTOR_DIMENSION,
                f"Vector dimension {written.vector} is outside 1 to {_MAX_DIMENSION}",
                written.span,
            )
        return PropertyType(Scalar.F32, written.nullable, vector=written.vector)
    if written.enum is not None:
        return PropertyType(Scalar.STRING, written.nullable, enum=_enum_values(written.enum, problems))
    if written.is_list and scalar is Scalar.BLOB:
        problems.add(Code.LIST_OF_BLOB, "a list of Blob is not supported", written.span)
    return PropertyType(scalar, written.nullable, is_list=written.is_list)


def _enum_values(values: tuple[ast.Name, ...], problems: SchemaProblems) -> tuple[str, ...]:
    seen: set[str] = set()
    for value in values:
        if value.text in seen:
            problems.add(
                Code.ENUM_VALUES, f"enum has duplicate values: {value.text!r} is listed twice", value.span
            )
        seen.add(value.text)
    return tuple(sorted(seen))
