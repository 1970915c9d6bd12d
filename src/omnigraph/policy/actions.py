"""What can be done, and which branch a rule about it may be narrowed to."""

from __future__ import annotations

from enum import StrEnum


class BranchScope(StrEnum):
    """Which branches a rule is about."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


ON_BRANCH = frozenset({"read", "export", "change"})
"""Actions on a branch: rules about them may have a `branch_scope`."""

ON_TARGET = frozenset(
    {"schema_apply", "branch_create", "branch_delete", "branch_merge", "propose", "approve"}
)
"""Actions whose result lands in a branch: rules about them may have a `target_branch_scope`."""

ON_GRAPH = frozenset({"admin", "invoke_query"})
"""Actions on a graph as a whole."""

ON_SERVER = frozenset({"graph_list"})
"""Actions on a server; they stand in a bundle of their own."""

ACTIONS = ON_BRANCH | ON_TARGET | ON_GRAPH | ON_SERVER
