"""Every problem that a schema text can have: a stable code and what it stands for."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """The code of a schema problem; `CODES` says what each means."""

    SYNTAX = "S101"
    ESCAPE = "S102"
    UNTERMINATED = "S103"
    CHARACTER = "S104"
    NUMBER = "S105"
    DUPLICATE = "S201"
    RESERVED = "S202"
    CASE_FOLDING = "S203"
    UNKNOWN_INTERFACE = "S204"
    UNKNOWN_ENDPOINT = "S205"
    INTERFACE_MISMATCH = "S206"
    VECTOR_DIMENSION = "S301"
    LIST_OF_BLOB = "S302"
    ENUM_VALUES = "S303"
    ON_LIST = "S304"
    ON_VECTOR = "S305"
    ON_BLOB = "S306"
    NODE_LEVEL = "S401"
    EDGE_LEVEL = "S402"
    INSTRUCTION = "S403"
    REPEATED = "S404"
    BLANK_TEXT = "S405"
    RENAME_FROM = "S406"
    EMBED = "S407"
    DEFAULT = "S408"
    MERGE = "S409"
    MISPLACED = "S410"
    ARGUMENT = "S411"
    RENAME_TARGET = "S412"
    MULTIPLE_KEYS = "S501"
    NULLABLE_KEY = "S502"
    UNKNOWN_PROPERTY = "S503"
    CONSTRAINT_ARGUMENT = "S504"
    RANGE_TYPE = "S505"
    CHECK_TYPE = "S506"
    CARDINALITY = "S507"
    RANGE_BOUNDS = "S508"
    PATTERN = "S509"
    MORE = "S999"


CODES: dict[Code, str] = {
    Code.SYNTAX: "the text does not follow the grammar",
    Code.ESCAPE: 'a string has an escape other than \\" \\\\ \\n \\r \\t',
    Code.UNTERMINATED: "a string or block comment does not end",
    Code.CHARACTER: "a character that is not valid Unicode text",
    Code.NUMBER: "a number that fits no number type",
    Code.DUPLICATE: "a type, or a property of a type, is declared twice",
    Code.RESERVED: "a property name that the storage or the edge endpoints use",
    Code.CASE_FOLDING: "two edge types differ only in upper and lower case",
    Code.UNKNOWN_INTERFACE: "`implements` names an interface that is not declared",
    Code.UNKNOWN_ENDPOINT: "an edge starts or ends at a node type that is not declared",
    Code.INTERFACE_MISMATCH: "a property differs from its interface, or two interfaces disagree",
    Code.VECTOR_DIMENSION: "a vector dimension outside 1 to 2147483647",
    Code.LIST_OF_BLOB: "a list of Blob",
    Code.ENUM_VALUES: "an enum lists a value twice",
    Code.ON_LIST: "an annotation or constraint that a list property cannot have",
    Code.ON_VECTOR: "an annotation or constraint that a vector property cannot have",
    Code.ON_BLOB: "an annotation or constraint that a blob property cannot have",
    Code.NODE_LEVEL: "an annotation of properties stands on a node type",
    Code.EDGE_LEVEL: "an annotation or constraint that edges cannot have",
    Code.INSTRUCTION: "`@instruction` on a property",
    Code.REPEATED: "one annotation several times on one target",
    Code.BLANK_TEXT: "`@description` or `@instruction` without text",
    Code.RENAME_FROM: "`@rename_from` without exactly one name",
    Code.EMBED: "`@embed` on the wrong type, or without a usable source",
    Code.DEFAULT: "a `@default` that does not fit its property",
    Code.MERGE: "a `@merge` rule that is unknown or does not fit its property",
    Code.MISPLACED: "an annotation or constraint where it has no meaning",
    Code.ARGUMENT: "an annotation argument of the wrong form",
    Code.RENAME_TARGET: "`@rename_from` names nothing that this declaration can continue (migrations only)",
    Code.MULTIPLE_KEYS: "a node type with two keys",
    Code.NULLABLE_KEY: "a key property that is nullable",
    Code.UNKNOWN_PROPERTY: "a constraint names a property that the type does not have",
    Code.CONSTRAINT_ARGUMENT: "a constraint argument of the wrong form",
    Code.RANGE_TYPE: "`@range` on a property that is not numeric",
    Code.CHECK_TYPE: "`@check` on a property that is not a String",
    Code.CARDINALITY: "`@card` with a minimum above its maximum, or without `..`",
    Code.RANGE_BOUNDS: "`@range` bounds that no value of the property's type can satisfy (graphs only)",
    Code.PATTERN: "`@check` with a regular expression that cannot be used (graphs only)",
    Code.MORE: "the list of problems was cut",
}

UNREAD_CODES = frozenset({Code.SYNTAX, Code.UNTERMINATED})
"""Problems that leave a part of the file unread."""

DEPENDENT_CODES = frozenset(
    {
        Code.UNKNOWN_INTERFACE,
        Code.UNKNOWN_ENDPOINT,
        Code.INTERFACE_MISMATCH,
        Code.UNKNOWN_PROPERTY,
        Code.EMBED,
    }
)
"""Problems that may be mere consequences when part of the file could not be read."""
