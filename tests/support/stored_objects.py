"""Editing control objects as an outsider with the right checksum would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnigraph.graph.manifest import format as stored_format


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a control object and give it the sum that fits."""
    content = json.loads(path.read_bytes())
    del content["sum"]
    change(content)
    format = content.pop("format")
    place = str(path)[str(path).index("__") :]
    path.write_bytes(stored_format.encode({**content, "format": format}, place))
