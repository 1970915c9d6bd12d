"""Mutations of JSON that stay JSON: bytes alone hardly ever do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

ODD = (None, True, 0, -1, 2**63, 2**200, 1e308, "", "x", "\ud800", "../x", [], {}, [[]], {"": None}, "9" * 40)


def mutate_json(data: bytes, max_size: int, seed: int, mutate_bytes: Callable[[bytes, int], bytes]) -> bytes:
    """Return other JSON made of some JSON; bytes that are none are changed as bytes."""
    chance = random.Random(seed)
    try:
        value = json.loads(data)
    except ValueError:
        return mutate_bytes(data, max_size)
    if chance.random() < 0.1:
        return mutate_bytes(data, max_size)
    for _ in range(chance.randint(1, 3)):
        value = _change(value, chance)
    return json.dumps(value, separators=(",", ":")).encode("utf-8", "surrogatepass")[:max_size]


def _change(value: Any, chance: random.Random) -> Any:
    """Return a value of which one part is another."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        kept = dict(value)
        match chance.randrange(8):
            case 0:
                del kept[name]
            case 1:
                kept[chance.choice(["", "format", "x", name + "x"])] = kept[name]
            case _:
                kept[name] = _change(kept[name], chance)
        return kept
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        items = list(value)
        match chance.randrange(6):
            case 0:
                del items[at]
            case 1:
                items.insert(at, items[at])
            case _:
                items[at] = _change(items[at], chance)
        return items
    if isinstance(value, str) and value and chance.random() < 0.5:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(["", "\0", "/", "é", "0"]) + value[at + 1 :]
    return chance.choice(ODD)
