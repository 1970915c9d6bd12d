"""What a client of a server cannot do, because it is about the storage of a graph or this machine's files."""

from __future__ import annotations

from omnigraph.base.errors import BadInput


def refuse(what: str) -> BadInput:
    """Return the error that says so."""
    return BadInput(
        f"{what} needs the storage of a graph, and this one is served: open it where it is stored"
    )


def refuse_here(name: str, why: str) -> BadInput:
    """Return the error about an option that has no meaning for a served graph."""
    return BadInput(f"{name} cannot be given for a served graph: {why}")
