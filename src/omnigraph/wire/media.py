"""Names that both sides know: media types and headers."""

from __future__ import annotations

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"

COMMIT_HEADER = "Omnigraph-Commit"
IF_COMMIT_HEADER = "Omnigraph-If-Graph-Commit"
KEY_HEADER = "Idempotency-Key"
