"""Every problem that a schema text can have: a stable code."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """The code of a schema problem; docs/schema-language.md says what each means."""

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
    EXTENSION = "S413"
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
