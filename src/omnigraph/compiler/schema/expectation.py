"""The wording of syntax errors of a schema: what was expected, and what is probably meant."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.compiler.schema.grammar import Start
from omnigraph.compiler.schema.scan import RoughToken
from omnigraph.compiler.source import suggest

BASE_TYPES = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date")

_GROUPS = (
    ({"BASE", "ENUM", "VECTOR", "LSQB"}, "a type"),
    ({"STRING", "BOOL", "FLOAT", "INT", "NEGATIVE", "LSQB"}, "a literal"),
    ({"STRING", "BOOL", "FLOAT", "INT", "NEGATIVE"}, "a literal"),
    ({"FLOAT", "INT", "NEGATIVE"}, "a number"),
    ({"NODE", "EDGE", "INTERFACE"}, "'node', 'edge' or 'interface'"),
)
_PHRASES = {
    "TYPE_NAME": "a type name",
    "BASE": "a base type",
    "IDENT": "a name",
    "ENUM_VALUE": "an enum value",
    "INT": "a whole number",
    "STRING": "a string",
    "COLON": "':'",
    "__ANON_0": "'->'",
    "EQUAL": "'='",
    "DOTS": "'..'",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "QUESTION": "'?'",
    "ANNOTATION": "an annotation",
    "CONSTRAINT": "a constraint",
    "CARD": "'@card'",
    "IMPLEMENTS": "'implements'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
}
_END_OF = {"members": "RBRACE", "properties": "RBRACE", "node_header": "LBRACE", "interface_header": "LBRACE"}
_ALIASES = {
    "int": "I32 or I64",
    "integer": "I32 or I64",
    "long": "I64",
    "uint": "U32 or U64",
    "float": "F32 or F64",
    "double": "F64",
    "number": "F64",
    "text": "String",
    "str": "String",
    "boolean": "Bool",
    "timestamp": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
}
_SEPARATOR = "properties and declarations are separated by white space only"
_QUOTES = "write strings in double quotes"
_CARD_BOUNDS = "write bounds as 1.. or 0..1"
_BOUNDS = "bounds look like 0..10, 0.. or ..10"

# By the mark that was found: the token that could have stood there, the part being read, the hint.
_MARKS: dict[str, tuple[tuple[str | None, Start | None, str], ...]] = {
    "?": (("RSQB", None, "the '?' follows the whole list: [String]?"),),
    "..": (
        ("INT", "edge_header", _CARD_BOUNDS),
        (None, "edge_header", "put @card before all other annotations of an edge"),
        ("FLOAT", None, _BOUNDS),
    ),
    "@": (
        (None, "properties", "an interface holds properties only; put constraints into the node types"),
        (None, "edge_header", "put constraints inside the braces"),
    ),
    "[": (("BASE", None, "a list holds values of a base type, not lists"),),
    ")": (
        ("DOTS", "edge_header", _CARD_BOUNDS),
        ("STRING", None, "a value is missing before ')'"),
        ("FLOAT", "members", _BOUNDS),
    ),
    ",": ((None, "members", _SEPARATOR), (None, "properties", _SEPARATOR), (None, "start", _SEPARATOR)),
    ";": ((None, None, _SEPARATOR),),
    "#": ((None, None, "write comments as // … or /* … */"),),
    "'": ((None, None, _QUOTES),),
    "`": ((None, None, _QUOTES),),
}
# By the token that could have stood there: how the word that was found begins, the hint.
_WORDS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("TYPE_NAME", str.islower, "type names start with a capital letter and hold letters, digits and '_'"),
    ("IDENT", str.isupper, "property names start with a small letter or '_'"),
    ("IDENT", str.isdigit, "names do not start with a digit"),
)


def describe_expected(expected: set[str], start: Start) -> str:
    """Return the expected tokens in words."""
    wanted = set(expected)
    if "$END" in wanted:
        wanted.discard("$END")
        if start in _END_OF:
            wanted.add(_END_OF[start])
    phrases: list[str] = []
    for group, phrase in _GROUPS:
        if group <= wanted:
            phrases.append(phrase)
            wanted -= group
    if "IDENT" in wanted and wanted & {"RBRACE", "CONSTRAINT"}:
        phrases.append("a property")
        wanted.discard("IDENT")
    phrases += [phrase for terminal, phrase in _PHRASES.items() if terminal in wanted]
    if not phrases:
        return "another text"
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def hint_for(expected: set[str], found: RoughToken | None, start: Start) -> str | None:
    """Return a hint at what may be meant, or None."""
    if found is None:
        return None
    if found.kind == "word":
        return _hint_for_word(expected, found.text)
    for terminal, part, hint in _MARKS.get(found.text, ()):
        if (terminal is None or terminal in expected) and part in (None, start):
            return hint
    return None


def _hint_for_word(expected: set[str], word: str) -> str | None:
    if "BASE" in expected:
        return _hint_for_type(expected, word)
    if {"NODE", "EDGE"} <= expected:
        return suggest(word, ("node", "edge", "interface"))
    for terminal, begins, hint in _WORDS:
        if terminal in expected and begins(word[0]):
            return hint
    return None


def _hint_for_type(expected: set[str], word: str) -> str:
    if "LSQB" not in expected and word in ("enum", "Vector"):
        return "a list holds values of a base type"
    alias = _ALIASES.get(word.lower())
    if alias:
        return f"did you mean {alias}?"
    return suggest(word, (*BASE_TYPES, "Vector", "enum")) or f"the base types are {', '.join(BASE_TYPES)}"
