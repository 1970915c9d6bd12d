"""Compile the properties of one type: names, types and annotations."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.annotations import MARKS, AnnotationReader
from omnigraph.compiler.catalog.defaults import MERGE_RULES, DoesNotFit, default_value, merge_rule_problem
from omnigraph.compiler.catalog.draft import RenameHint
from omnigraph.compiler.catalog.model import EDGE_ENDS, END_COLUMNS, TypeKind
from omnigraph.compiler.catalog.types import resolve_type
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import Span, suggest
from omnigraph.compiler.types import PropertyType, Scalar

_SYSTEM_NAMES = frozenset(
    {"_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"}
)
_EDGE_NAMES = frozenset(END_COLUMNS) | frozenset(EDGE_ENDS)


@dataclass(frozen=True, slots=True)
class DeclaredProperty:
    """A property with what its annotations ask of the whole type."""

    property: model.Property
    marks: frozenset[str]
    """Which of `@key`, `@unique` and `@index` it has."""
    rename: RenameHint | None
    span: Span


def compile_properties(
    kind: TypeKind, owner: str, members: tuple[ast.Member, ...], problems: SchemaProblems
) -> dict[str, DeclaredProperty]:
    """Compile the declared properties of a type, by name."""
    compiled: dict[str, DeclaredProperty] = {}
    for member in members:
        if not isinstance(member, ast.PropertyDeclaration):
            continue
        name = member.name.text
        if name in _SYSTEM_NAMES or name == "id" or (kind == "edge" and name in _EDGE_NAMES):
            problems.add(
                Code.RESERVED, f"property name '{name}' of {kind} {owner} is reserved", member.name.span
            )
        if name in compiled:
            problems.add(Code.DUPLICATE, f"duplicate property '{name}' in {kind} {owner}", member.name.span)
            continue
        compiled[name] = _compile(kind, owner, member, problems)
    return compiled


def check_embed_sources(owner: str, declared: dict[str, DeclaredProperty], problems: SchemaProblems) -> None:
    """Report `@embed` sources that are not String properties of the type."""
    for item in declared.values():
        embed = item.property.embed
        if embed is None:
            continue
        source = declared.get(embed.source)
        target = f"{owner}.{item.property.name}"
        if source is None:
            problems.add(
                Code.EMBED,
                f"@embed on {target} names unknown property '{embed.source}'",
                item.span,
                problems.suggest(embed.source, declared),
            )
        elif source.property.type.is_list or source.property.type.scalar is not Scalar.STRING:
            found = source.property.type
            problems.add(
                Code.EMBED,
                f"@embed on {target} needs a String source; {owner}.{embed.source} is {found}",
                item.span,
            )


def _compile(
    kind: TypeKind, owner: str, member: ast.PropertyDeclaration, problems: SchemaProblems
) -> DeclaredProperty:
    target = f"{owner}.{member.name.text}"
    reader = AnnotationReader(f"property {target}", member.annotations, problems)
    found = resolve_type(member.type, problems)
    marks = frozenset(word for word in MARKS if reader.get(word))
    _check_placement(kind, target, found, reader)
    custom = reader.custom()
    if kind == "interface":
        # An interface has no constraints of its own; its marks are kept for those who implement it.
        custom = (*custom, *(model.Annotation(word) for word in MARKS if word in marks))
    compiled = model.Property(
        id=0,
        name=member.name.text,
        type=found,
        default=_default(target, found, reader),
        embed=_embed(target, found, reader),
        merge_rule=_merge_rule(target, found, reader),
        description=reader.text("description"),
        annotations=custom,
        inline_unique="unique" in marks,
    )
    return DeclaredProperty(compiled, marks, reader.rename(), member.name.span)


def _check_placement(kind: TypeKind, target: str, found: PropertyType, reader: AnnotationReader) -> None:
    for word in (*MARKS, "embed"):
        annotation = reader.get(word)
        if annotation is None:
            continue
        if kind == "edge" and word in ("key", "embed"):
            reader.problem(
                Code.EDGE_LEVEL, f"@{word} is not supported on edge properties: {target}", annotation
            )
        elif found.is_list:
            reader.problem(Code.ON_LIST, f"@{word} is not supported on list property {target}", annotation)
        elif found.scalar is Scalar.BLOB:
            reader.problem(Code.ON_BLOB, f"@{word} is not supported on blob property {target}", annotation)
        elif found.is_vector and word in ("key", "unique"):
            reader.problem(
                Code.ON_VECTOR, f"@{word} is not supported on vector property {target}", annotation
            )
        elif word == "key" and found.nullable:
            reader.problem(Code.NULLABLE_KEY, f"@key property {target} cannot be nullable", annotation)
        if word in MARKS and annotation.argument is not None:
            reader.problem(Code.ARGUMENT, f"@{word} on a property takes no argument", annotation)
    if annotation := reader.get("instruction"):
        reader.problem(
            Code.INSTRUCTION,
            f"@instruction is only supported on node and edge types, not on {target}",
            annotation,
        )
    if annotation := reader.get("card"):
        reader.problem(Code.MISPLACED, "@card is only supported on edges, before their braces", annotation)
    for word, form in (("range", "@range(p, 0..10)"), ("check", '@check(p, "pattern")')):
        if annotation := reader.get(word):
            name = target.rpartition(".")[2]
            reader.problem(
                Code.CONSTRAINT_ARGUMENT,
                f"@{word} on {target} is incomplete: expected {'bounds' if word == 'range' else 'a string'}",
                annotation,
                f"write {form.replace('(p', f'({name}')}",
            )


def _embed(target: str, found: PropertyType, reader: AnnotationReader) -> model.Embed | None:
    annotation = reader.get("embed")
    if annotation is None or found.is_list or found.scalar is Scalar.BLOB:
        return None
    if not found.is_vector:
        reader.problem(Code.EMBED, f"@embed needs a Vector property; {target} is {found}", annotation)
        return None
    argument = annotation.argument
    source = argument.text if isinstance(argument, ast.Word) else getattr(argument, "value", None)
    if not isinstance(source, str) or not source.strip():
        reader.problem(
            Code.EMBED, f"@embed on {target} needs a source property", annotation, "write @embed(text)"
        )
        return None
    model_name: str | None = None
    for keyword in annotation.keywords:
        value = keyword.value.value
        if keyword.name.text != "model" or model_name is not None:
            name = keyword.name.text
            reader.problem(
                Code.EMBED, f"@embed on {target} takes one keyword, 'model', found '{name}'", annotation
            )
        elif not isinstance(value, str) or not value.strip():
            reader.problem(Code.EMBED, f"@embed on {target} needs the model's name in quotes", annotation)
        else:
            model_name = value
    return model.Embed(source, model_name)


def _default(target: str, found: PropertyType, reader: AnnotationReader) -> model.Default | None:
    annotation = reader.get("default")
    if annotation is None:
        return None
    if annotation.argument is None or annotation.keywords:
        reader.problem(
            Code.DEFAULT, f"@default on {target} needs one literal: expected @default(value)", annotation
        )
        return None
    try:
        return model.Default(default_value(annotation.argument, found))
    except DoesNotFit as reason:
        reader.problem(Code.DEFAULT, f"@default on {target}: {reason}", annotation)
        return None


def _merge_rule(target: str, found: PropertyType, reader: AnnotationReader) -> str | None:
    annotation = reader.get("merge")
    if annotation is None:
        return None
    argument = annotation.argument
    rule = argument.text if isinstance(argument, ast.Word) else getattr(argument, "value", None)
    if not isinstance(rule, str) or rule not in MERGE_RULES or annotation.keywords:
        hint = suggest(rule, MERGE_RULES) if isinstance(rule, str) else None
        reader.problem(
            Code.MERGE, f"@merge on {target}: expected one of {', '.join(MERGE_RULES)}", annotation, hint
        )
        return None
    if problem := merge_rule_problem(rule, found):
        reader.problem(Code.MERGE, f"{target}: {problem}", annotation)
        return None
    return rule
