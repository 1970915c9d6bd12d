"""Schema text to syntax tree, with every problem of the text at once."""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.comments import attach_comments
from omnigraph.compiler.schema.convert import Converter
from omnigraph.compiler.schema.grammar import parse_text
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.schema.recover import read_broken
from omnigraph.compiler.schema.scan import scan
from omnigraph.compiler.source import SourceText, Span

MAX_CHARACTERS = 1024 * 1024


def parse_schema(text: str, file: str = "", max_characters: int = MAX_CHARACTERS) -> ast.SchemaFile:
    """Parse a schema text, or raise a ParseError that lists every mistake."""
    problems = SchemaProblems(SourceText(text))
    tree = read_schema(text, problems, max_characters)
    problems.raise_if_any(file)
    return tree


def read_schema(text: str, problems: SchemaProblems, max_characters: int = MAX_CHARACTERS) -> ast.SchemaFile:
    """Parse as much of a schema text as can be read and record every mistake."""
    if len(text) > max_characters:
        raise ResourceLimit(
            f"the schema text has {len(text)} characters; the limit is {max_characters}",
            resource="schema_characters",
            limit=max_characters,
            actual=len(text),
        )
    found = scan(text, problems)
    converter = Converter(problems)
    try:
        tree = parse_text(text)
    except UnexpectedInput as error:
        declarations = read_broken(text, found.end, converter, problems)
        if not problems:
            # The parts read well one by one; the whole text still does not.
            at = min(error.pos_in_stream or 0, len(text))
            problems.add(Code.SYNTAX, "syntax error: expected another text", Span(at, at + 1))
        return ast.SchemaFile(declarations)
    declarations = tuple(converter.declaration(child) for child in tree.children)  # type: ignore[arg-type]
    return attach_comments(ast.SchemaFile(declarations), text, found.comments)
