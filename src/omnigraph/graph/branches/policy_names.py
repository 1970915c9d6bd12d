"""What the names in rules about data stand for in one graph; a policy with others does not fit it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.base.errors import BadInput, CorruptState, NotFound
from omnigraph.base.lru import Lru
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.truth import Truth
from omnigraph.policy.data.names import NamedPlaces, SchemaName, find_places

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate

_KEPT_ANSWERS = 256
_NOTHING = NamedPlaces()


class PolicyNames:
    """Looks names up in the newest schema of main, and those that it lacks in all that are stored."""

    def __init__(self, truth: Truth, schemas: Schemas) -> None:
        self._truth, self._schemas = truth, schemas
        self._known: Lru[tuple[frozenset[SchemaName], str], NamedPlaces] = Lru(_KEPT_ANSWERS)

    def find(self, gate: Gate) -> NamedPlaces:
        """Return what the names of a policy stand for; BadInput when one of them stands for nothing."""
        names = frozenset() if gate.data is None else gate.data.names
        if not names:
            return _NOTHING
        address = self._main_schema()
        known = self._known.get((names, address))
        if known is not None:
            return known
        newest = self._schemas.get(address).catalog if address else Catalog()
        found, unknown = find_places(names, newest, self._all_catalogs)
        if unknown:
            said = ", ".join(map(str, unknown))
            raise BadInput(
                f"the policy names {said}, which no schema of this graph has or had: correct it",
                unknown=[str(name) for name in unknown],
            )
        return self._known.setdefault((names, address), found)

    def check(self, gate: Gate) -> None:
        """Refuse a policy that does not fit the graph."""
        self.find(gate)
        address = self._main_schema()
        if gate.data is not None and address:
            gate.data.check_keys(self._schemas.get(address).catalog)

    def _main_schema(self) -> str:
        """Return the address of main's schema as it was last seen; empty when it cannot be read."""
        try:
            return self._truth.last_known(MAIN).head.schema
        except (NotFound, CorruptState):
            return ""

    def _all_catalogs(self) -> Iterator[Catalog]:
        return (schema.catalog for schema in self._schemas.all())
