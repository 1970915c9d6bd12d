"""Hypothesis strategies for schema syntax trees that need not mean anything."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph.compiler.schema import ast

_WORDS = ("a", "b1", "_c", "node", "edge", "interface", "implements", "enum", "key", "unique", "true", "x_Y")
_CONSTRAINTS = ("key", "unique", "index", "range", "check")
_BASES = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date")
_LETTERS = st.characters(exclude_categories=("Cs",))

idents = st.sampled_from(_WORDS)
type_names = st.sampled_from(("A", "Film", "B_2", "String", "Vector", "Z9"))
names = idents.map(ast.Name)
upper_names = type_names.map(ast.Name)
words = idents.filter(lambda word: word != "true").map(ast.Word)
integers = st.integers(-(2**63), 2**64 - 1)
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
literals = (st.text(_LETTERS, max_size=8) | numbers | st.booleans()).map(ast.Literal)
scalars: SearchStrategy[ast.Scalar] = literals | words
list_literals = st.lists(scalars, max_size=3).map(lambda items: ast.ListArgument(tuple(items)))


@st.composite
def ranges(draw: DrawFn) -> ast.RangeBounds:
    """Draw bounds, at least one of them closed."""
    low = draw(st.none() | numbers.map(ast.Literal))
    high = draw(numbers.map(ast.Literal) if low is None else st.none() | numbers.map(ast.Literal))
    return ast.RangeBounds(low, high)


@st.composite
def annotations(draw: DrawFn) -> ast.AnnotationExpr:
    """Draw an annotation; a constraint word takes no argument there."""
    name = draw(st.sampled_from(("description", "embed", "default", "custom", "key", "range")))
    if name in _CONSTRAINTS or draw(st.booleans()):
        return ast.AnnotationExpr(ast.Name(name))
    keywords = draw(st.lists(st.builds(ast.Keyword, names, literals), max_size=2))
    return ast.AnnotationExpr(ast.Name(name), draw(scalars | list_literals), tuple(keywords))


types = st.one_of(
    st.builds(ast.TypeExpr, st.sampled_from(_BASES), st.booleans(), st.booleans()),
    st.builds(ast.TypeExpr, st.just("F32"), st.booleans(), vector=st.integers(0, 2**40)),
    st.builds(
        ast.TypeExpr,
        st.just("String"),
        st.booleans(),
        enum=st.lists(st.from_regex(r"\A[A-Za-z0-9_-]{1,4}\Z").map(ast.Name), min_size=1, max_size=3).map(
            tuple
        ),
    ),
)

_line_comments = st.text("ab */\\\"'", max_size=6).map(lambda text: f"//{text}".rstrip())
_block_comments = (
    st.text('ab /\\"\n', max_size=6).filter(lambda text: "*/" not in text).map(lambda text: f"/*{text}*/")
)


@st.composite
def _leading(draw: DrawFn, blank_first: bool, blank_last: bool) -> tuple[str, ...]:
    lines: list[str] = []
    for comment in draw(st.lists(_line_comments | _block_comments, max_size=2)):
        if draw(st.booleans()) and (lines or blank_first):
            lines.append("")
        lines.append(comment)
    if draw(st.booleans()) and blank_last and (lines or blank_first):
        lines.append("")
    return tuple(lines)


@st.composite
def _trailing(draw: DrawFn) -> tuple[str, ...]:
    comments = draw(st.lists(_block_comments, max_size=1)) + draw(st.lists(_line_comments, max_size=1))
    return tuple(comments)


@st.composite
def members(draw: DrawFn, number: int, constraints: bool) -> ast.Member:
    """Draw a property or a constraint with its comments."""
    comments = ast.Comments(draw(_leading(number > 0, True)), draw(_trailing()))
    if constraints and draw(st.booleans()):
        arguments = draw(st.lists(scalars | ranges(), min_size=1, max_size=3))
        return ast.Constraint(draw(st.sampled_from(_CONSTRAINTS)), tuple(arguments), comments)
    notes = tuple(draw(st.lists(annotations(), max_size=2)))
    return ast.PropertyDeclaration(draw(names), draw(types), notes, comments)


@st.composite
def declarations(draw: DrawFn) -> ast.Declaration:
    """Draw an interface, node or edge."""
    kind = draw(st.sampled_from(("interface", "node", "edge")))
    count = draw(st.integers(0, 3))
    body = tuple(draw(members(number, kind != "interface")) for number in range(count))
    comments = ast.Comments(draw(_leading(False, True)), draw(_trailing()))
    around = ast.BodyComments(draw(_trailing()), draw(_leading(False, False)))
    notes = tuple(draw(st.lists(annotations(), max_size=2)))
    if kind == "interface":
        return ast.Interface(draw(upper_names), body, comments, around)
    if kind == "node":
        implements = tuple(draw(st.lists(upper_names, max_size=2)))
        return ast.Node(draw(upper_names), notes, implements, body, comments, around)
    card = draw(st.none() | st.builds(ast.Card, st.integers(0, 9), st.none() | st.integers(0, 9)))
    source, target = draw(upper_names), draw(upper_names)
    return ast.Edge(draw(upper_names), source, target, card, notes, body, comments, around)


@st.composite
def schema_files(draw: DrawFn) -> ast.SchemaFile:
    """Draw a whole file."""
    return ast.SchemaFile(tuple(draw(st.lists(declarations(), max_size=3))), draw(_leading(False, False)))
