"""The codes of migrations, `OG-FF-NNN`; family DS is destructive, MF may fail on data."""

from __future__ import annotations

from enum import StrEnum


class MigrationCode(StrEnum):
    """The code of a schema change; docs/schema-migration.md says what each means.

    OG-DS-101, OG-DS-105 and the families CD, BC, NM, OW, NL, VE, ED and LK are reserved.
    """

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
    ADD_KEY = "OG-MF-111"
