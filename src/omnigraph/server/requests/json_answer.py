"""JSON as the server answers it: whatever a caller sent can be told back to them."""

from __future__ import annotations

import json
from typing import Any

from fastapi.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """An answer as JSON; half of a surrogate pair, which UTF-8 cannot hold, is told as its escape."""

    def render(self, content: Any) -> bytes:
        """Return the text of the answer."""
        try:
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
