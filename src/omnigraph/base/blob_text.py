"""Bytes as the text that stands for them in JSON: `base64:` and their Base64."""

from __future__ import annotations

import base64

_PREFIX = "base64:"


def blob_to_text(value: bytes | bytearray | memoryview) -> str:
    """Return the text of some bytes."""
    return _PREFIX + base64.b64encode(value).decode()


def is_blob_text(text: str) -> bool:
    """Return whether a text stands for bytes; if not, it may be an address of some."""
    return text.startswith(_PREFIX)


def blob_from_text(text: str) -> bytes:
    """Return the bytes that a text stands for, or raise ValueError with what is wrong."""
    if not is_blob_text(text):
        raise ValueError("is not bytes: write base64:…")
    try:
        return base64.b64decode(text[len(_PREFIX) :], validate=True)
    except ValueError as error:
        raise ValueError(f"is not valid base64: {error}") from None
