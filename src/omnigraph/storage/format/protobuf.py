"""Messages of Protocol Buffers, field by field: as much as a look into Lance's manifests needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED_64, _COUNTED, _FIXED_32 = 0, 1, 2, 5
_LONG = 0x80
"""A byte of a number with this bit is followed by another."""
_FIXED_SIZES = {_FIXED_64: 8, _FIXED_32: 4}


class ProtobufField(NamedTuple):
    """One field: its number, its value, and itself as it is stored."""

    number: int
    value: int | bytes
    stored: bytes


def fields(message: bytes) -> Iterator[ProtobufField]:
    """Yield the fields of a message; ValueError when it is none."""
    at, end = 0, len(message)
    while at < end:
        begun = at
        # Nearly all numbers are small: a call for each would take most of the time.
        tag, at = (message[at], at + 1) if message[at] < _LONG else _varint(message, at)
        kind, value = tag & 7, 0
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield ProtobufField(tag >> 3, value, message[begun:at])
            continue
        if kind == _COUNTED:
            size, at = _varint(message, at)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise ValueError(f"no field is of kind {kind}")
        if at + size > end:
            raise ValueError("a field goes beyond its message")
        yield ProtobufField(tag >> 3, message[at : at + size], message[begun : at + size])
        at += size


def read_counted(message: bytes, number: int) -> list[bytes]:
    """Return the values of one field of a message, which have a length; as `fields`, and quicker."""
    found, at, end = list[bytes](), 0, len(message)
    while at < end:
        tag, at = (message[at], at + 1) if message[at] < _LONG else _varint(message, at)
        kind = tag & 7
        if kind == _COUNTED:
            size, at = _varint(message, at)
            if tag >> 3 == number:
                found.append(message[at : at + size])
            at += size
        elif kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in _FIXED_SIZES:
            at += _FIXED_SIZES[kind]
        else:
            raise ValueError(f"no field is of kind {kind}")
    if at > end:
        raise ValueError("a field goes beyond its message")
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    if at < len(message) and message[at] < _LONG:
        return message[at], at + 1
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _LONG:
            return value, at
        shift += 7
    raise ValueError("a number goes beyond its message")
