"""Attach the comments of a text to the elements of its tree, so that the printer keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from omnigraph.compiler.schema import ast
from omnigraph.compiler.source import Span


@dataclass
class _CommentSlot:
    """An element from `start` to `end`, or a brace, that comments can precede or follow."""

    kind: Literal["header", "first", "member", "closing"]
    start: int
    end: int
    leading: list[str] = field(default_factory=list)
    trailing: list[str] = field(default_factory=list)


def attach_comments(tree: ast.SchemaFile, text: str, comments: tuple[Span, ...]) -> ast.SchemaFile:
    """Return the tree with every comment, and each blank line between members, kept in an element."""
    places = _places(tree, len(text))
    _Distribution(text, comments).run(places)
    taken = iter(places)
    declarations = tuple(_with_comments(declaration, taken) for declaration in tree.declarations)
    return ast.SchemaFile(declarations, tuple(next(taken).leading))


def _places(tree: ast.SchemaFile, length: int) -> list[_CommentSlot]:
    """List headers (up to the brace), members, closing braces and the end of the file, in text order."""
    places: list[_CommentSlot] = []
    for declaration in tree.declarations:
        braces = declaration.braces
        header_end = braces.start + 1 if braces else declaration.span.end
        places.append(_CommentSlot("header", declaration.span.start, header_end))
        if braces:
            for number, member in enumerate(declaration.members):
                places.append(
                    _CommentSlot("member" if number else "first", member.span.start, member.span.end)
                )
            places.append(_CommentSlot("closing", braces.end - 1, braces.end))
    places.append(_CommentSlot("closing", length, length))
    return places


class _Distribution:
    """Assigns each comment to the element that it follows, is inside of, or precedes."""

    def __init__(self, text: str, comments: tuple[Span, ...]) -> None:
        self._text = text
        self._waiting = list(reversed(comments))
        self._newline = -1

    def run(self, places: list[_CommentSlot]) -> None:
        previous: _CommentSlot | None = None
        for place in places:
            self._fill(previous, place)
            previous = place

    def _fill(self, previous: _CommentSlot | None, place: _CommentSlot) -> None:
        at = previous.end if previous else 0
        while self._waiting and self._waiting[-1].start < place.start:
            comment = self._waiting.pop()
            gap = self._text[at : comment.start]
            if previous and not place.leading and "\n" not in gap and self._ends_line(comment, place):
                previous.trailing.append(self._text_of(comment))
            else:
                _add_blank(place, gap)
                place.leading.append(self._text_of(comment))
            at = comment.end
        _add_blank(place, self._text[at : place.start])
        while self._waiting and self._waiting[-1].start < place.end:
            place.leading.append(self._text_of(self._waiting.pop()))
        if place.kind == "closing" and place.leading and not place.leading[-1]:
            place.leading.pop()

    def _ends_line(self, comment: Span, place: _CommentSlot) -> bool:
        if self._newline < comment.end:
            found = self._text.find("\n", comment.end)
            self._newline = found if found >= 0 else len(self._text)
        return self._newline < place.start or place.start == len(self._text)

    def _text_of(self, comment: Span) -> str:
        return self._text[comment.start : comment.end].rstrip()


def _add_blank(place: _CommentSlot, gap: str) -> None:
    wanted = place.leading or place.kind == "member"
    if wanted and gap.count("\n") > 1 and place.leading[-1:] != [""]:
        place.leading.append("")


def _with_comments(declaration: ast.Declaration, places: Iterator[_CommentSlot]) -> ast.Declaration:
    header = next(places)
    if declaration.braces is None:
        return replace(declaration, comments=_comments(header))
    members = tuple(replace(member, comments=_comments(next(places))) for member in declaration.members)
    closing = next(places)
    return replace(
        declaration,
        members=members,
        comments=ast.Comments(tuple(header.leading), tuple(closing.trailing)),
        body_comments=ast.BodyComments(tuple(header.trailing), tuple(closing.leading)),
    )


def _comments(place: _CommentSlot) -> ast.Comments:
    if not place.leading and not place.trailing:
        return ast.NO_COMMENTS
    return ast.Comments(tuple(place.leading), tuple(place.trailing))
