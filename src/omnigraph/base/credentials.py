"""Credentials in addresses, which no message may show."""

from __future__ import annotations

import re

_CREDENTIALS = re.compile(
    r"""(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"]*@"""
    r"""|(?P<name>[?&][^=&\s'"]*(?:key|token|secret|password|signature|credential)[^=&\s'"]*=)[^&\s'"]*""",
    re.IGNORECASE,
)


def hide_credentials(text: str) -> str:
    """Return a text in which addresses have no user, password or key: errors are shown and logged."""
    if "://" not in text:
        return text
    return _CREDENTIALS.sub(
        lambda found: f"{found['scheme']}…@" if found["scheme"] else f"{found['name']}…", text
    )
