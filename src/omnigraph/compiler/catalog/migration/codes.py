"""The registry of migration codes, `OG-FF-NNN`; family DS is destructive, MF may fail on data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Tier = Literal["safe", "validated", "destructive"]


class MigrationCode(StrEnum):
    """The code of a schema change; `REGISTRY` says what each means."""

    NODE_TYPE_DROP = "OG-DS-102"
    EDGE_TYPE_DROP = "OG-DS-103"
    PROPERTY_DROP = "OG-DS-104"
    REQUIRED_PROPERTY = "OG-MF-103"
    NULL_TIGHTENING = "OG-MF-104"
    TYPE_CHANGE = "OG-MF-106"
    ADD_UNIQUE = "OG-MF-107"
    ADD_RANGE = "OG-MF-108"
    ADD_CHECK = "OG-MF-109"
    ADD_CARDINALITY = "OG-MF-110"


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """What a code stands for, how careful a change is, and how its failure is reported."""

    code: MigrationCode
    tier: Tier
    meaning: str
    severity: Literal["error"] = "error"


REGISTRY: dict[MigrationCode, CodeEntry] = {
    entry.code: entry
    for entry in (
        CodeEntry(MigrationCode.NODE_TYPE_DROP, "destructive", "a node type is dropped"),
        CodeEntry(MigrationCode.EDGE_TYPE_DROP, "destructive", "an edge type is dropped"),
        CodeEntry(MigrationCode.PROPERTY_DROP, "destructive", "a property is dropped"),
        CodeEntry(
            MigrationCode.REQUIRED_PROPERTY, "validated", "a required property is added without @default"
        ),
        CodeEntry(MigrationCode.NULL_TIGHTENING, "validated", "a nullable property becomes required"),
        CodeEntry(
            MigrationCode.TYPE_CHANGE, "validated", "a property's type changes in a way that may lose data"
        ),
        CodeEntry(MigrationCode.ADD_UNIQUE, "validated", "@unique is added"),
        CodeEntry(MigrationCode.ADD_RANGE, "validated", "@range is added"),
        CodeEntry(MigrationCode.ADD_CHECK, "validated", "@check is added"),
        CodeEntry(MigrationCode.ADD_CARDINALITY, "validated", "@card is added"),
    )
}

RESERVED = ("OG-DS-101", "OG-DS-105")
"""Codes that no change bears yet; the families CD, BC, NM, OW, NL, VE, ED and LK are reserved as a whole."""
