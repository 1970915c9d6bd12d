"""The values of two nodes that are combined: a pure decision over two rows."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.graph.merge.answers.resolutions import KeptValues
from omnigraph.graph.merge.classify import Row, RuleClash, value_by_rule

_COMBINING = ("sum", "max", "union")
"""Rules that make one value of two, whoever is right."""


def combine_rows(
    table: TableType, kept: Row, gone: Row, values: KeptValues, gone_is_newer: bool, given: frozenset[str]
) -> dict[str, Any]:
    """Return the row of what stays: keys and ends are its own, `given` properties are left for others."""
    row = dict(kept)
    if values is KeptValues.KEEP:
        return row
    newer = values is KeptValues.NEWEST and gone_is_newer
    own = {*(table.key or ()), *given}
    for item in table.properties:
        if item.name in own or item.embed is not None:
            continue
        if item.merge_rule in _COMBINING:
            row[item.name] = _by_rule(table, item, kept[item.name], gone[item.name])
        elif _takes(kept[item.name], gone[item.name], newer):
            row[item.name] = gone[item.name]
    for item in table.properties:
        # A vector goes with the text that it stands for.
        if item.embed is not None and item.name not in own:
            text = item.embed.source
            taken = row[text] != kept[text] if text in kept else False
            same_text = text in kept and kept[text] == gone[text] and kept[item.name] is None
            if taken or same_text:
                row[item.name] = gone[item.name] if row.get(text) == gone.get(text) else None
    return row


def _takes(kept: Any, gone: Any, newer: bool) -> bool:
    return gone is not None and (kept is None or newer)


def _by_rule(table: TableType, item: Property, kept: Any, gone: Any) -> Any:
    if kept is None or gone is None:
        return gone if kept is None else kept
    try:
        return value_by_rule(item, str(item.merge_rule), None, kept, gone)
    except RuleClash:
        raise BadInput(
            f"{table.name}.{item.name}: the {item.merge_rule} of {kept} and {gone} cannot be stored: give "
            "its value in the image of the answer",
            type=table.name,
            property=item.name,
        ) from None
