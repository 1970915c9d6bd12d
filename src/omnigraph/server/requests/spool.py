"""Bodies of loads, written to a file of this machine while they come."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

from omnigraph.base.errors import ResourceLimit
from omnigraph.server.requests.engine_pool import EnginePool

_HELD_BYTES = 1024 * 1024


async def write_body(pieces: AsyncIterator[bytes], path: Path, most: int, pool: EnginePool) -> int:
    """Write a body to a file and return how many bytes it has; about a MiB is held at once."""
    taken, held = 0, bytearray()
    limited = limit_body(pieces, most, "load it in parts, as a job, or with the engine")
    descriptor = await pool.run(os.open, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, writes=True)
    try:
        async for piece in limited:
            taken += len(piece)
            held += piece
            if len(held) >= _HELD_BYTES:
                await pool.run(_write, descriptor, bytes(held), writes=True)
                held.clear()
        await pool.run(_write, descriptor, bytes(held), writes=True)
    finally:
        os.close(descriptor)
    return taken


async def limit_body(pieces: AsyncIterator[bytes], most: int, instead: str) -> AsyncIterator[bytes]:
    """Yield the pieces of a body, or refuse it as soon as it is too large."""
    taken = 0
    async for piece in pieces:
        taken += len(piece)
        if taken > most:
            raise ResourceLimit(
                f"the body has more than {most} bytes: {instead}",
                resource="load_body_bytes",
                limit=most,
                actual=taken,
            )
        yield piece


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
