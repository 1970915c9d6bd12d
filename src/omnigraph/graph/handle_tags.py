"""`g.tags`: names for commits."""

from __future__ import annotations

from omnigraph.base.errors import BadInput
from omnigraph.graph.open_graph import OpenGraph
from omnigraph.graph.tags import Tag, create_tag, list_tags, tag_name


class Tags:
    """Names for commits; cleanup keeps what they name for as long as they exist."""

    def __init__(self, graph: OpenGraph) -> None:
        self._graph = graph
        self._internals = graph.internals

    def create(self, name: str, commit: str | None = None, branch: str | None = None) -> Tag:
        """Name a commit: the one with this id, or a branch's head (this handle's branch unless given)."""
        self._internals.check_allowed("branch_create", target=tag_name(name))
        self._internals.check_writable()
        if commit is not None and branch is not None:
            raise BadInput("give a commit or a branch, not both")
        record = self._graph.snapshot(branch, commit).record
        return create_tag(self._internals.core.truth, name, record, self._graph.actor)

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name; the log tells of damaged ones. Under a policy those of commits
        that may be read.
        """
        access = self._internals.make_access()
        if access is not None:
            access.check_any()
        return list_tags(self._internals.core.truth, None if access is None else access.find_holder)

    def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Remove a name; the next cleanup may drop the commit. `if_commit` is the one it must still name."""
        self._internals.check_allowed("branch_delete", target=tag_name(name))
        self._internals.check_writable()
        condition = self._internals.find_condition(if_commit)
        self._internals.core.truth.tags.delete(tag_name(name), condition)
