"""Handles in pickles: they hold no data and no secrets, only how to open the same graph again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import BadInput, NotFound
from omnigraph.embedding.config import EmbeddingConfig
from omnigraph.embedding.embedder import EmbeddingChoice
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.opening import Core
from omnigraph.storage.objects.options import is_harmless_option
from omnigraph.storage.objects.settings import CREDENTIALS_FILE

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


@dataclass(frozen=True)
class HowOpened:
    """What a handle was opened with."""

    open: Callable[..., Any]
    uri: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    embedding: EmbeddingChoice = field(default=None, repr=False)
    rescue: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of another opening, or refuse when one of them must not leave the process."""
        for name, value in (self.storage_options or {}).items():
            if name != CREDENTIALS_FILE and not is_harmless_option(name, str(value)):
                raise _refusal(
                    f"the storage option {name}, which may be a credential",
                    "give credentials by environment variables or a role, or open the graph again there",
                    option=name,
                )
        if isinstance(self.embedding, EmbeddingConfig) and self.embedding.api_key is not None:
            raise _refusal("the key of its embedding provider", "give the key by an environment variable")
        if not isinstance(self.embedding, EmbeddingConfig | str | None):
            raise _refusal("an embedding provider that is an object", "open the graph again there")
        return {
            "storage_options": None if self.storage_options is None else dict(self.storage_options),
            "embedding": self.embedding,
            "rescue": self.rescue,
        }


class ReopenableGraph(Graph):
    """A graph's handle that can be pickled."""

    def __init__(
        self,
        core: Core,
        branch: str = MAIN,
        read_only: bool = False,
        actor: str | None = None,
        opened: HowOpened | None = None,
        policy: Gate | None = None,
    ) -> None:
        """Take an opened graph; `opened` says how it was, so that a copy can be elsewhere."""
        super().__init__(core, branch, read_only, actor, policy)
        self._opened = opened

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to open the same graph, on the same branch, in another process."""
        if self._opened is None:
            raise BadInput("this handle cannot be pickled: it was not made by `open` or `init`")
        mine: dict[str, Any] = {"branch": self.branch, "read_only": self.read_only, "actor": self.actor}
        if self.policy is not None:
            mine["policy"] = self.policy
        arguments = self._opened.arguments() | mine
        return reopen, (self._opened.open, self._opened.uri, self.id, arguments), self.internals.incarnation

    def __setstate__(self, incarnation: str) -> None:
        """Be the handle that was pickled: a branch made again under the name is another one."""
        self.internals.incarnation = incarnation


def reopen(opens: Callable[..., Any], uri: str, id: str, arguments: Mapping[str, Any]) -> Any:
    """Open the graph that a pickled handle was of."""
    graph = opens(uri, **arguments)
    if graph.id != id:
        raise NotFound(
            f"the pickled handle was of graph {id}, and there is another one at {uri} now", id=id, uri=uri
        )
    return graph


def reopen_snapshot(graph: Any, commit: str, branch: str) -> Any:
    """Return the snapshot that was pickled."""
    found = graph.snapshot(commit=commit)
    found.branch = branch
    return found


def _refusal(what: str, instead: str, **facts: str) -> BadInput:
    return BadInput(f"this handle cannot be pickled: it was opened with {what}; {instead}", **facts)
