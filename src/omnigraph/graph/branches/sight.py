"""What one actor sees of a graph: at every commit the same graph, only smaller."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.base.errors import BadInput, PolicyDenied
from omnigraph.base.lru import Lru
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.branches.policy_names import PolicyNames
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.truth import Truth
from omnigraph.policy.data.catalog import hide_properties
from omnigraph.policy.data.names import NamedPlaces
from omnigraph.policy.data.rules import DataRules

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate

_UNKNOWN_BRANCH = ""
_KEPT_CATALOGS = 256


class SeenCatalogs:
    """Catalogs without hidden properties. Queries are compiled once for each, so each is made once."""

    def __init__(self) -> None:
        self._kept: Lru[tuple[int, str], tuple[Catalog, Catalog]] = Lru(_KEPT_CATALOGS)

    def get(self, catalog: Catalog, rules: DataRules) -> Catalog:
        """Return what an actor with some rules sees of a catalog."""
        key = (id(catalog), rules.digest)
        found = self._kept.get(key)
        if found is None or found[0] is not catalog:  # holding it keeps its id() from being reused
            found = (catalog, hide_properties(catalog, rules))
            self._kept.put(key, found)
        return found[1]


class Sight:
    """What an actor may see, or see and change, of each commit, by the rules about data of a policy.

    A commit is judged by the rules of its branch and of all branches that this one was forked from: nobody
    sees more by forking.
    """

    def __init__(
        self,
        gate: Gate,
        actor: str | None,
        actions: tuple[str, ...],
        truth: Truth,
        schemas: Schemas,
        names: PolicyNames,
    ) -> None:
        self._gate, self._actor, self._actions = gate, actor, actions
        self._truth, self._schemas, self._policy_names = truth, schemas, names
        self._names: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def rules_at(self, record: CommitRecord) -> DataRules | None:
        """Return what is seen of a commit; None for everything."""
        catalog = self._schemas.get(record.schema).catalog
        found: DataRules | None = None
        places = self._find_places()
        for branch in self._branches_of(record):
            for action in self._actions:
                rules = self._gate.rules_for(self._actor, action, branch, catalog, places)
                if rules is not None and (found is None or found.digest != rules.digest):
                    found = rules if found is None else found.narrow(rules)
        return found

    def _find_places(self) -> NamedPlaces:
        try:
            return self._policy_names.find(self._gate)
        except BadInput as error:
            raise PolicyDenied(error.message, actor=self._actor, action=self._actions[0]) from error

    def _branches_of(self, record: CommitRecord) -> tuple[str, ...]:
        """Return the branch of a commit, and those that it was forked from."""
        with self._lock:
            known = self._names.get(record.incarnation)
        if known is None:
            known = tuple(dict.fromkeys(self._list_origins(record)))
            with self._lock:
                self._names[record.incarnation] = known
        return tuple(dict.fromkeys((record.branch, *known)))

    def _list_origins(self, record: CommitRecord) -> Iterator[str]:
        past = Ancestry(self._truth.chains)
        place: CommitRef | None = past.fork_of(record)
        while place is not None:
            found = past.at(place)
            yield _UNKNOWN_BRANCH if found is None else found.branch
            if found is None:
                return
            place = past.fork_of(found)
