"""The schema that all clients work on, and the texts that it changes between."""

from __future__ import annotations

ACCOUNTS = tuple(f"account-{number}" for number in range(5))
OPENING = 100
"""What every account begins with."""
MOST_FRIENDS = 3
"""The upper bound of `Knows`."""

_FIXED = f"""
node Account {{ name: String @key  balance: I64 }}
node Transfer {{ token: String  source: String  target: String  amount: I64 }}
node Token {{ token: String }}
node Item {{ token: String  n: I64  of: I64 }}
node Claim {{ token: String @key  slot: String @unique }}
node Ticket {{ name: String @key  token: String }}
node Person {{ token: String @key }}
edge Knows: Person -> Person @card(0..{MOST_FRIENDS}) {{ token: String }}
"""

TEXTS = {
    "plain": f"{_FIXED}node Note {{ token: String }}\n",
    "extra": f"{_FIXED}node Note {{ token: String  extra: String? }}\n",
    "renamed": f'{_FIXED}node Note {{ token: String  more: String? @rename_from("extra") }}\n',
    "scratch": f"{_FIXED}node Note {{ token: String }}\nnode Scratch {{ token: String }}\n",
}
"""By name: the schemas that are applied again and again, so that the same text is dropped and comes back."""

FIRST = "plain"


def name_of(text: str) -> str:
    """Return the name of a schema text, or a word for one that nobody gave."""
    return next((name for name, known in TEXTS.items() if known == text), "none of ours")
