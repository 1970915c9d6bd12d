"""Read annotations: those with a meaning into fields, the others as they are."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.draft import RenameHint
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems

MARKS = ("key", "unique", "index")
_ONCE = frozenset(
    {"key", "unique", "index", "embed", "description", "instruction", "rename_from", "default", "merge"}
)
_MEANINGFUL = _ONCE | {"range", "check", "card"}


@dataclass(frozen=True, slots=True)
class TypeAnnotations:
    """What the annotations of a node or edge type say."""

    description: str | None
    instruction: str | None
    rename: RenameHint | None
    custom: tuple[model.Annotation, ...]


class AnnotationReader:
    """Reads the annotations of one target, named `target` in messages."""

    def __init__(
        self, target: str, annotations: tuple[ast.AnnotationExpr, ...], problems: SchemaProblems
    ) -> None:
        self._target = target
        self._annotations = annotations
        self._problems = problems
        self._by_name: dict[str, ast.AnnotationExpr] = {}
        for annotation in annotations:
            name = annotation.name.text
            if name in self._by_name and name in _ONCE:
                self.problem(Code.REPEATED, f"@{name} is given multiple times on {target}", annotation)
            self._by_name.setdefault(name, annotation)

    def get(self, name: str) -> ast.AnnotationExpr | None:
        """Return the first annotation with this name."""
        return self._by_name.get(name)

    def problem(
        self, code: Code, message: str, annotation: ast.AnnotationExpr, hint: str | None = None
    ) -> None:
        """Report a problem at an annotation."""
        self._problems.add(code, message, annotation.span, hint)

    def text(self, name: str) -> str | None:
        """Return the text of `@description` or `@instruction`."""
        annotation = self.get(name)
        if annotation is None:
            return None
        value = _text_of(annotation.argument)
        if value is None or not value.strip() or annotation.keywords:
            self.problem(
                Code.BLANK_TEXT, f"@{name} on {self._target} needs one non-empty value in quotes", annotation
            )
            return None
        return value

    def rename(self) -> RenameHint | None:
        """Return the old name that `@rename_from` gives."""
        annotation = self.get("rename_from")
        if annotation is None:
            return None
        value = _text_of(annotation.argument)
        if value is None or not value.strip() or annotation.keywords:
            self.problem(
                Code.RENAME_FROM,
                f"@rename_from on {self._target} needs exactly one value, the old name",
                annotation,
                'write @rename_from("OldName")',
            )
            return None
        return RenameHint(value.strip(), annotation.span)

    def custom(self) -> tuple[model.Annotation, ...]:
        """Return the annotations without a meaning, in the order of their names."""
        found = [
            self._custom(annotation)
            for annotation in self._annotations
            if annotation.name.text not in _MEANINGFUL
        ]
        return tuple(sorted(found, key=lambda annotation: annotation.name))

    def _custom(self, annotation: ast.AnnotationExpr) -> model.Annotation:
        if isinstance(annotation.argument, ast.ListArgument):
            self.problem(
                Code.ARGUMENT,
                f"expected a literal or a word in @{annotation.name.text}, found a list",
                annotation,
            )
            return model.Annotation(annotation.name.text)
        return model.Annotation(
            annotation.name.text,
            _value_of(annotation.argument),
            tuple((keyword.name.text, keyword.value.value) for keyword in annotation.keywords),
        )


def read_type_annotations(
    kind: str, name: str, annotations: tuple[ast.AnnotationExpr, ...], problems: SchemaProblems
) -> TypeAnnotations:
    """Read the annotations of a node or edge header."""
    reader = AnnotationReader(f"{kind} {name}", annotations, problems)
    for word in (*MARKS, "embed"):
        annotation = reader.get(word)
        if annotation and kind == "node":
            reader.problem(
                Code.NODE_LEVEL,
                f"@{word} is only supported on node properties, not on node {name}",
                annotation,
                f"put @{word} after the property"
                + (f" or @{word}(…) into the braces" if word in MARKS else ""),
            )
        elif annotation:
            hint = f"put @{word}(…) into the braces" if word in ("unique", "index") else None
            reader.problem(
                Code.EDGE_LEVEL, f"@{word} is not supported on edges, found on edge {name}", annotation, hint
            )
    for word in ("default", "merge", "range", "check"):
        if annotation := reader.get(word):
            reader.problem(Code.MISPLACED, f"@{word} is only supported on properties", annotation)
    if annotation := reader.get("card"):
        _report_card(kind, reader, annotation)
    return TypeAnnotations(
        reader.text("description"), reader.text("instruction"), reader.rename(), reader.custom()
    )


def _report_card(kind: str, reader: AnnotationReader, annotation: ast.AnnotationExpr) -> None:
    if kind == "edge":
        message = "expected bounds in @card, such as @card(1..) or @card(0..1)"
        reader.problem(Code.CARDINALITY, message, annotation)
    else:
        reader.problem(Code.MISPLACED, "@card is only supported on edges", annotation)


def _text_of(argument: ast.Scalar | ast.ListArgument | None) -> str | None:
    value = _value_of(argument)
    return value if isinstance(value, str) else None


def _value_of(argument: ast.Scalar | ast.ListArgument | None) -> str | int | float | bool | None:
    if isinstance(argument, ast.Word):
        return argument.text
    return argument.value if isinstance(argument, ast.Literal) else None
