"""Lists in pages: names in their order, and after which one the next page begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query

from omnigraph.base.errors import BadInput
from omnigraph.base.ids import is_ulid
from omnigraph.base.plain import read_json

_MOST_NAMES = 1_000
_TOKEN_DIGITS = 12
NextPage = Annotated[str | None, Query(description="`next_page_token` of the page before.")]


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is asked for; all of it unless a limit is given."""

    limit: Annotated[int | None, Query(ge=1, le=_MOST_NAMES)] = None
    page_token: NextPage = None

    def cut(
        self, member: str, items: Sequence[Any], place: Callable[[Any], tuple[Any, ...]]
    ) -> dict[str, Any]:
        """Return a part of a list that is sorted by `place`, and where the next one begins.

        What is made or deleted between two pages moves nothing from one to the other.
        """
        if self.limit is None and self.page_token is None:
            return {member: list(items)}
        after = None if self.page_token is None else _read_place(self.page_token)
        try:
            rest = [item for item in items if after is None or place(item) > after]
        except TypeError:
            raise _wrong_token(self.page_token) from None
        some = rest[: self.limit]
        token = json.dumps(place(some[-1])) if len(some) < len(rest) else None
        return {member: some, "next_page_token": token}


PageDep = Annotated[Page, Depends()]


def _read_place(token: str) -> tuple[Any, ...]:
    try:
        found = read_json(token)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise _wrong_token(token)
    return tuple(found)


def name_rest(commit: str, passed: int) -> str:
    """Return the token of a list at a commit, of which so many items have been told."""
    return f"{commit}.{passed}"


def read_rest(token: str) -> tuple[str, int]:
    """Return the commit that a token is of, and how many items have been told."""
    commit, _, passed = token.partition(".")
    if not (is_ulid(commit) and passed.isascii() and passed.isdigit() and len(passed) < _TOKEN_DIGITS):
        raise _wrong_token(token)
    return commit, int(passed)


def _wrong_token(token: str | None) -> BadInput:
    return BadInput(f"page_token is {token!r}: use one that a page has returned")
