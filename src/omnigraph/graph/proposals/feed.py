"""What happens to proposals, for who follows it: a cursor says how much of each was seen."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable

from omnigraph.base.errors import BadInput, ChangeCursorRejected
from omnigraph.base.plain import read_json
from omnigraph.graph.proposals.describe import list_events
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.model import ProposalEvent, ProposalPage
from omnigraph.graph.proposals.stored import ProposalContext
from omnigraph.graph.proposals.verbs import read_all

MOST_EVENTS = 10_000
_MOST_CURSOR_BYTES = 16_777_216


def poll_events(
    context: ProposalContext, cursor: str | None, limit: int, is_shown: Callable[[ProposalFacts], bool]
) -> ProposalPage:
    """Return the events that follow a cursor, older proposals first."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_EVENTS:
        raise BadInput(f"limit is {limit!r}: give a whole number from 1 to {MOST_EVENTS}")
    seen = {} if cursor is None else _read(cursor)
    found: list[ProposalEvent] = []
    for proposal in read_all(context, sorted(context.stored.ids())):
        before = seen.get(proposal.id, 0)
        if before == len(proposal.events) or not is_shown(fold(proposal)):
            continue
        new = list_events(proposal)[before : before + limit - len(found)]
        if new:
            seen[proposal.id] = before + len(new)
            found += new
        if len(found) == limit:
            break
    return ProposalPage(tuple(found), _write(seen))


def find_end(context: ProposalContext) -> str:
    """Return the cursor after all that has happened."""
    return _write({item.id: len(item.events) for item in read_all(context, context.stored.ids())})


def _write(seen: dict[str, int]) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(seen).encode())).decode()


def _read(cursor: str) -> dict[str, int]:
    try:
        packed = zlib.decompressobj()
        found = read_json(packed.decompress(base64.urlsafe_b64decode(cursor), _MOST_CURSOR_BYTES))
        return {str(id): int(count) for id, count in found.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, zlib.error) as error:
        raise ChangeCursorRejected("the cursor is not one of the events of proposals") from error
