"""What a load does with the rows that are stored."""

from __future__ import annotations

from typing import Literal

Mode = Literal["append", "merge", "patch", "overwrite"]
UPSERTS: tuple[Mode, ...] = ("merge", "patch")
"""The modes that replace stored rows by those with the same ids."""
