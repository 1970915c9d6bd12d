"""The syntax tree of a schema file. Trees are compared without spans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from omnigraph.compiler.source import NOWHERE, Span

ConstraintKind = OneOf["key", "unique", "index", "range", "check"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Word:
    """An unquoted word used as an argument."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number or boolean literal."""

    value: str | int | float | bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python and different in a schema.
        return (
            isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


Scalar: TypeAlias = Literal | Word


@dataclass(frozen=True, slots=True)
class ListArgument:
    """A list of literals and words, `[1, 2]`."""

    items: tuple[Scalar, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RangeBounds:
    """Bounds `low..high`; an open side is None."""

    low: Literal | None
    high: Literal | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A named argument of an annotation."""

    name: Name
    value: Literal


@dataclass(frozen=True, slots=True)
class AnnotationExpr:
    """`@name`, `@name(argument)` or `@name(argument, keyword=value)`."""

    name: Name
    argument: Scalar | ListArgument | None = None
    keywords: tuple[Keyword, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """A written type: a base name, `[Base]`, `enum(…)` or `Vector(n)`, perhaps with `?`."""

    base: str
    nullable: bool = False
    is_list: bool = False
    enum: tuple[Name, ...] | None = None
    vector: int | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments around one element; an empty string is a blank line."""

    leading: tuple[str, ...] = ()
    """On lines of their own before the element, and any found inside it."""
    trailing: tuple[str, ...] = ()
    """On the line on which the element ends."""


@dataclass(frozen=True, slots=True)
class BodyComments:
    """The comments at the braces of a declaration."""

    opening: tuple[str, ...] = ()
    """On the line of the opening brace."""
    closing: tuple[str, ...] = ()
    """On lines of their own before the closing brace."""


NO_COMMENTS = Comments()
NO_BODY_COMMENTS = BodyComments()


@dataclass(frozen=True, slots=True)
class PropertyDeclaration:
    """`name: Type @annotations`."""

    name: Name
    type: TypeExpr
    annotations: tuple[AnnotationExpr, ...] = ()
    comments: Comments = NO_COMMENTS
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a body, such as `@unique(a, b)`."""

    kind: ConstraintKind
    arguments: tuple[Scalar | RangeBounds, ...]
    comments: Comments = NO_COMMENTS
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Member: TypeAlias = PropertyDeclaration | Constraint


@dataclass(frozen=True, slots=True)
class Card:
    """`@card(low..high)`; an open upper end is None."""

    low: int
    high: int | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface declaration."""

    name: Name
    members: tuple[Member, ...] = ()
    comments: Comments = NO_COMMENTS
    body_comments: BodyComments = NO_BODY_COMMENTS
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    braces: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A node type declaration."""

    name: Name
    annotations: tuple[AnnotationExpr, ...] = ()
    implements: tuple[Name, ...] = ()
    members: tuple[Member, ...] = ()
    comments: Comments = NO_COMMENTS
    body_comments: BodyComments = NO_BODY_COMMENTS
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    braces: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge type declaration."""

    name: Name
    source: Name
    target: Name
    card: Card | None = None
    annotations: tuple[AnnotationExpr, ...] = ()
    members: tuple[Member, ...] = ()
    comments: Comments = NO_COMMENTS
    body_comments: BodyComments = NO_BODY_COMMENTS
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    braces: Span | None = field(default=None, compare=False, repr=False)


Declaration: TypeAlias = Interface | Node | Edge


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A whole schema text."""

    declarations: tuple[Declaration, ...] = ()
    closing: tuple[str, ...] = ()
    """Comments after the last declaration."""
