"""The text of Cedar policies: names as they are written in it, and what a text says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import cedarpy


@dataclass(frozen=True, slots=True)
class CedarProblem:
    """Why a text is not policies."""

    code: Literal["not_cedar", "template"]
    message: str
    """Without its subject: the text that it is about stands before it."""


def name_entity(kind: str, id: str) -> str:
    """Return an entity as Cedar names it."""
    return f"{kind}::{quote(id)}"


def quote(text: str) -> str:
    """Return a string of Cedar that says exactly this, whatever is in it."""
    letters = (
        letter
        if letter.isascii() and (letter.isalnum() or letter in " _-./:@")
        else f"\\u{{{ord(letter):x}}}"
        for letter in text
    )
    return f'"{"".join(letters)}"'


def read_policies(text: str) -> dict[str, Any] | CedarProblem:
    """Return policies as JSON, by the names that Cedar gives them, or what is wrong with them."""
    if not text.strip():
        return {}
    try:
        told = json.loads(cedarpy.policies_to_json_str(text))
    except Exception as error:  # cedarpy raises what it likes
        return CedarProblem("not_cedar", f"is not Cedar: {error}")
    if told.get("templates"):
        return CedarProblem("template", "has a template (?principal, ?resource): write policies without")
    found: dict[str, Any] = told["staticPolicies"]
    return found


def is_cedar(text: str) -> bool:
    """Return whether Cedar can read a text, be it policies or templates."""
    found = read_policies(text)
    return not (isinstance(found, CedarProblem) and found.code == "not_cedar")
