"""What a load does with the rows that are stored."""

from __future__ import annotations

from typing import Literal

Mode = Literal["append", "merge", "overwrite"]
