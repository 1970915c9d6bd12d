"""Names that both sides know: media types and headers; and how texts stand in headers."""

from __future__ import annotations

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"

COMMIT_HEADER = "Omnigraph-Commit"
IF_COMMIT_HEADER = "Omnigraph-If-Graph-Commit"
NULL_HEADER = "Omnigraph-Blob-Null"
KEY_HEADER = "Idempotency-Key"
HANDLE_HEADER = "Omnigraph-Handle"
"""The branch that a client's handle works on, and which of the branches that had this name it is."""
VALUES_HEADER = "Omnigraph-Values"
EXACT = "exact"
"""Of `Omnigraph-Values`: the caller reads integers of any size, and marks what JSON has no form for."""
REQUEST_HEADER = "X-Request-Id"
REVISION_HEADER = "Omnigraph-Revision"
"""The revision of the cluster that answered."""
TIMEOUT_HEADER = "Omnigraph-Timeout"


def read_header(text: str) -> str:
    """Return what a header says, given its bytes as Latin-1: they are UTF-8 where they can be."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text
