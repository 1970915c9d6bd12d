"""An extending text laid over a schema: what it declares is added, and nothing else changes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.printer import print_annotation, print_type
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import NOWHERE, Span

_RENAME = "rename_from"
_KIND_WORDS = {ast.Interface: "interface", ast.Node: "node", ast.Edge: "edge"}


def extend_tree(
    accepted: ast.SchemaFile, addition: ast.SchemaFile, problems: SchemaProblems
) -> ast.SchemaFile:
    """Return the accepted schema with an addition; what would change instead of add is a problem.

    A block for a type that is there gives it further properties, constraints and annotations. What it
    repeats must be as it is; of an enum it may name more values. Spans are those of the addition.
    """
    known = {(type(item), item.name.text): item for item in _without_places(accepted).declarations}
    added: dict[Any, list[ast.Declaration]] = {key: [] for key in known}
    new: list[ast.Declaration] = []
    for declaration in addition.declarations:
        key = (type(declaration), declaration.name.text)
        _refuse_renames(declaration, problems)
        if key in known:
            added[key].append(declaration)
        else:
            new.append(declaration)
    for key, blocks in added.items():
        for block in blocks:
            known[key] = _extend(known[key], block, problems)
    return ast.SchemaFile((*known.values(), *new), (*accepted.closing, *addition.closing))


def _extend(old: Any, block: Any, problems: SchemaProblems) -> Any:
    owner = f"{_KIND_WORDS[type(old)]} {old.name.text}"
    changes: dict[str, Any] = {"members": _members(owner, old.members, block.members, problems)}
    if not isinstance(old, ast.Interface):
        changes["annotations"] = _annotations(owner, old.annotations, block.annotations, problems)
    if isinstance(old, ast.Node):
        unknown = [name for name in block.implements if name not in old.implements]
        for name in unknown:
            _refuse(
                problems, f"{owner} does not implement {name.text}: its interfaces cannot change", name.span
            )
    if isinstance(old, ast.Edge):
        for was, now in ((old.source, block.source), (old.target, block.target)):
            if was != now:
                ends = f"{old.source.text} -> {old.target.text}"
                _refuse(problems, f"{owner} goes {ends}: its ends cannot change", now.span)
        if block.card is not None and old.card is not None and block.card != old.card:
            _refuse(problems, f"{owner} has another @card already", block.card.span)
        changes["card"] = old.card or block.card
    return replace(old, **changes)


def _members(
    owner: str, old: tuple[ast.Member, ...], new: tuple[ast.Member, ...], problems: SchemaProblems
) -> tuple[ast.Member, ...]:
    members = list(old)
    places = {item.name.text: at for at, item in enumerate(old) if isinstance(item, ast.PropertyDeclaration)}
    rules = {(item.kind, item.arguments) for item in old if isinstance(item, ast.Constraint)}
    for item in new:
        if isinstance(item, ast.Constraint):
            if (item.kind, item.arguments) not in rules:
                members.append(item)
        elif item.name.text in places:
            at = places[item.name.text]
            members[at] = _property(f"{owner}.{item.name.text}", members[at], item, problems)
        else:
            members.append(item)
    return tuple(members)


def _property(
    name: str, old: ast.Member, new: ast.PropertyDeclaration, problems: SchemaProblems
) -> ast.PropertyDeclaration:
    assert isinstance(old, ast.PropertyDeclaration)
    was, now = old.type, new.type
    if was.enum is not None and now.enum is not None and set(was.enum) <= set(now.enum):
        was = replace(was, enum=now.enum)
    if was != now:
        _refuse(problems, f"{name} is there already, with the type {print_type(old.type)}", new.name.span)
    return replace(old, type=was, annotations=_annotations(name, old.annotations, new.annotations, problems))


def _annotations(
    owner: str,
    old: tuple[ast.AnnotationExpr, ...],
    new: tuple[ast.AnnotationExpr, ...],
    problems: SchemaProblems,
) -> tuple[ast.AnnotationExpr, ...]:
    known = {item.name.text: item for item in old}
    for item in new:
        was = known.get(item.name.text)
        if was is not None and was != item:
            _refuse(problems, f"{owner} has {print_annotation(was)} already", item.span)
    return (*old, *(item for item in new if item.name.text not in known))


def _refuse_renames(declaration: ast.Declaration, problems: SchemaProblems) -> None:
    notes = [] if isinstance(declaration, ast.Interface) else list(declaration.annotations)
    for member in declaration.members:
        if isinstance(member, ast.PropertyDeclaration):
            notes += member.annotations
    for note in notes:
        if _is_hint(note):
            _refuse(problems, f"@{_RENAME} in an extension", note.span)


def _refuse(problems: SchemaProblems, message: str, span: Span) -> None:
    hint = 'an extension only adds: to change what is there, apply the whole schema (mode "replace")'
    problems.add(Code.EXTENSION, message, span, hint)


def _is_hint(item: Any) -> bool:
    return isinstance(item, ast.AnnotationExpr) and item.name.text == _RENAME


def _without_places(tree: Any) -> Any:
    """Return an accepted tree without spans, which are of another text, and without hints, long followed."""
    if isinstance(tree, tuple):
        return tuple(_without_places(item) for item in tree if not _is_hint(item))
    if isinstance(tree, Span):
        return NOWHERE
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    return replace(tree, **{item.name: _without_places(getattr(tree, item.name)) for item in fields(tree)})
