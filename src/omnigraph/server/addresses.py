"""Which addresses of files jobs may read and write: only those that whoever starts the server has named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.base.errors import BadInput, PolicyDenied


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Folders and `s3://` prefixes under which jobs may read and write."""

    prefixes: Sequence[str] = ()

    def check(self, address: str) -> str:
        """Return an address, or refuse it: jobs read and write with the rights of the server."""
        if not address or "\0" in address:
            raise BadInput("an address of files is empty, or holds a NUL")
        if any(_lies_under(address, prefix) for prefix in self.prefixes):
            return address
        allowed = ", ".join(self.prefixes) or "nowhere"
        raise PolicyDenied(
            f"jobs of this server may read and write files under: {allowed}. Start it with --allow PREFIX",
            address=address,
        )


def _lies_under(address: str, prefix: str) -> bool:
    if "://" in prefix or "://" in address:
        if ".." in address.split("/") or "?" in address or "#" in address or "%" in address:
            return False
        return address == prefix.rstrip("/") or address.startswith(prefix.rstrip("/") + "/")
    # Symbolic links are followed first, so that none of them leads out.
    real, root = os.path.realpath(address), os.path.realpath(prefix)
    return real == root or real.startswith(root.rstrip("/") + "/")
