"""ULIDs: sortable by time, unique without coordination."""

from __future__ import annotations

from omnigraph.base import clock

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_DIGIT = {letter: value for value, letter in enumerate(_ALPHABET)}
ULID_LENGTH = 26
_TIME_LETTERS = 10
CHAIN_LENGTH = 12


def new_ulid() -> str:
    """Return a new ULID: 48 bits of milliseconds, 80 bits of randomness."""
    now = clock.current()
    return _encode((now.now_us() // 1000) << 80 | int.from_bytes(now.random_bytes(10), "big"))


def new_chain_id() -> str:
    """Return the id of a new chain of commits: 60 bits of randomness."""
    return _encode(int.from_bytes(clock.current().random_bytes(8), "big"))[-CHAIN_LENGTH:]


def new_commit_id(chain: str) -> str:
    """Return a new ULID that carries the chain it is minted for: a commit is found by its id alone."""
    ulid = new_ulid()
    return ulid[:_TIME_LETTERS] + chain + ulid[_TIME_LETTERS + CHAIN_LENGTH :]


def chain_of(commit: str) -> str:
    """Return the chain that a commit id was minted for."""
    return commit[_TIME_LETTERS : _TIME_LETTERS + CHAIN_LENGTH]


def ulid_time_us(ulid: str) -> int:
    """Return the time at which a ULID was made, in microseconds (rounded down to milliseconds)."""
    value = 0
    for letter in ulid:
        value = value << 5 | _DIGIT[letter]
    return (value >> 80) * 1000


def is_ulid(text: str) -> bool:
    """Return whether the text has the form of a ULID."""
    return len(text) == ULID_LENGTH and is_ulid_prefix(text)


def is_ulid_prefix(text: str) -> bool:
    """Return whether a ULID may begin with the text."""
    return 0 < len(text) <= ULID_LENGTH and text[0] <= "7" and all(letter in _DIGIT for letter in text)


def _encode(value: int) -> str:
    letters = [""] * ULID_LENGTH
    for place in range(ULID_LENGTH - 1, -1, -1):
        value, digit = divmod(value, 32)
        letters[place] = _ALPHABET[digit]
    return "".join(letters)
