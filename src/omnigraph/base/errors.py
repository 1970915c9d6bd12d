"""Every error that OmniGraph raises on purpose.

OmniError
├── BadInput                     the caller must change the request
│   ├── ParseError               text that does not parse, or a schema that does not compile
│   │   └── ParameterError       a parameter that is missing, unknown, or not of its type
│   ├── StoredQueryBroken        stored queries and the schema do not fit together
│   ├── TypeCheckError           a query that does not fit the schema
│   ├── ValidationError          data that breaks a rule of the schema
│   ├── InvalidName              a branch, tag or table name that is not allowed
│   ├── NotAGraph                there is no graph at the URI
│   ├── SchemaChangeUnsupported  a migration that cannot be planned
│   │   └── SchemaWouldDrop      a schema that leaves out what is there, and nobody has allowed the drops
│   ├── ClusterInvalid           what a cluster's files declare is not right
│   ├── ChangeCursorRejected     a token of the change feed that does not belong here
│   └── ResourceLimit            a configurable limit was reached
├── NotFound                     the named thing does not exist
│   ├── ChangeFeedGap            history that the feed would have to read was removed
│   └── HistoricalVersionReclaimed   it existed, and cleanup removed it
├── Conflict                     someone else was first
│   ├── AlreadyExists            the name or the root is taken
│   ├── BatchLanded              this batch of a stream is in the graph already
│   ├── BranchGone               the branch was deleted, or deleted and made again
│   ├── BranchInUse              the branch cannot be deleted now
│   ├── ChangeDiffRefusal        a commit that has no changes to show
│   ├── ClusterLockHeld          another operator works on the cluster
│   ├── ClusterManaged           a cluster declares this, so it is changed there
│   ├── Contention               too many lost races in a row
│   ├── ForeignLinks             symbolic links lie among the graph's files
│   ├── ExpectedVersionMismatch  a table that this write relied on has changed
│   ├── KeyConflict              an id is stored already
│   ├── MergeConflicts           two branches disagree
│   ├── StateCasMismatch         another operator has written a cluster's state
│   ├── NotMergeable             a proposal does not meet what its target demands
│   ├── ProposalClosed           the proposal is merged or closed
│   └── PreconditionFailed       the branch head is not the one the caller named
├── EmbeddingError               a text could not be turned into a vector
│   ├── EmbeddingModelMismatch   the vectors are not of the configured model
│   ├── EmbeddingNotConfigured   no provider is configured, or its key or package is missing
│   ├── EmbeddingRefused         the provider does not accept the request
│   ├── EmbeddingUnavailable     the provider cannot be reached, or not in time
│   └── InvalidEmbedding         the provider's answer holds no usable vector
├── PolicyDenied                 the actor may not do this
│   └── BranchProtected          only a proposal may change this branch
├── TooManyRequests              a server does as much for this actor as it may; nothing was done
├── Unauthorized                 the server does not know who is calling
├── Unavailable                  storage could not be reached, or refuses to be written
│   ├── AccessDenied             the credentials are refused, or may not read
│   ├── OutcomeUnknown           a write may have happened, and nothing stored says so
│   ├── ReadOnly                 this handle, or this disk, cannot be written
│   ├── SparkFailed              Spark did not start, or gave a job up
│   ├── SparkMissing             what Spark runs on is not installed
│   └── StorageMissing           the bucket or folder does not exist
└── CorruptState                 stored state that is inconsistent
    ├── FormatTooNew             written by a later release
    ├── FormatTooOld             written by a release this one cannot read
    └── UnreadablePlan           a recovery plan that cannot be parsed

A class says who must act and whether a retry helps; `details` holds the facts. Nothing here knows
an HTTP status or an exit code. All of them pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from omnigraph.base.credentials import hide_credentials
from omnigraph.base.diagnostics import Diagnostic


class OmniError(Exception):
    """The root of all errors: a stable `code`, facts in `details`, and whether trying again helps."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        self.message = hide_credentials(message)
        super().__init__(self.message)
        self.details: dict[str, Any] = {
            name: hide_credentials(value) if isinstance(value, str) else value
            for name, value in details.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.details)

    def __getattr__(self, name: str) -> Any:
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def _rebuild(kind: type[OmniError], message: str, details: dict[str, Any]) -> OmniError:
    error = kind.__new__(kind)
    OmniError.__init__(error, message, **details)
    return error


class BadInput(OmniError):
    """The request itself is wrong."""

    code = "bad_input"


class _Diagnosed(BadInput):
    """A problem list for one text; the message shows every problem with its place."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | str, file: str = "") -> None:
        if isinstance(diagnostics, str):
            diagnostics = [Diagnostic(self.code, diagnostics, 1, 1)]
        problems = tuple(diagnostics)
        super().__init__("\n".join(problem.render(file) for problem in problems), diagnostics=problems)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems, in the order of the text."""
        return tuple(self.details["diagnostics"])


class ParseError(_Diagnosed):
    """The text does not follow the grammar, or the schema does not compile."""

    code = "parse_error"


class ParameterError(ParseError):
    """A parameter of a query is missing, unknown, or not of its type; `parameter` names it."""

    code = "bad_parameter"

    def __init__(self, message: str, **details: Any) -> None:
        OmniError.__init__(self, message, **details)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The same as a diagnostic; it has no place in a text."""
        return (Diagnostic(self.code, self.message, 1, 1),)


class TypeCheckError(_Diagnosed):
    """The query does not fit the schema."""

    code = "type_error"


class StoredQueryBroken(BadInput):
    """Stored queries that do not fit the schema, or a schema that would break some; `queries` names them."""

    code = "stored_query_broken"


class ValidationError(BadInput):
    """Data breaks a rule of the schema; nothing was written."""

    code = "validation_error"


class InvalidName(BadInput):
    """A name is not allowed."""

    code = "invalid_name"


class NotAGraph(BadInput):
    """There is no graph at the URI."""

    code = "not_a_graph"


class SchemaChangeUnsupported(BadInput):
    """The schema change cannot be applied."""

    code = "schema_change_unsupported"


class SchemaWouldDrop(SchemaChangeUnsupported):
    """The schema leaves out types or properties, and the caller has not allowed to drop them."""

    code = "schema_would_drop"


class ClusterInvalid(BadInput):
    """What the files of a cluster declare is not right; `diagnostics` lists it all."""

    code = "cluster_invalid"


class ChangeCursorRejected(BadInput):
    """A cursor or page token is damaged, or belongs to another graph, branch, filter or call."""

    code = "change_cursor_rejected"


class ResourceLimit(BadInput):
    """A configurable limit was reached: `resource`, `limit`, `actual`."""

    code = "resource_limit"


class NotFound(OmniError):
    """The named thing does not exist."""

    code = "not_found"


class ChangeFeedGap(NotFound):
    """The feed would have to read history that was removed: `cursor`, `first_unreadable_commit_id`."""

    code = "change_feed_gap"


class HistoricalVersionReclaimed(NotFound):
    """The version existed; cleanup has removed it."""

    code = "historical_version_reclaimed"


class Conflict(OmniError):
    """Someone else was first."""

    code = "conflict"


class AlreadyExists(Conflict):
    """The name or the root is taken."""

    code = "already_exists"


class BranchGone(Conflict):
    """The branch was deleted (and perhaps made again) since this handle saw it."""

    code = "branch_gone"


class BranchInUse(Conflict):
    """The branch cannot be deleted while something depends on it."""

    code = "branch_in_use"


class ChangeDiffRefusal(Conflict):
    """The changes of this commit cannot be shown; `reason` says why."""

    code = "change_diff_refusal"


class ClusterLockHeld(Conflict):
    """Another operator works on the cluster: `lock_id`, `operation`, `created_at`, `pid`."""

    code = "cluster_lock_held"


class ClusterManaged(Conflict):
    """The graph belongs to a cluster, whose files declare this: `uri`."""

    code = "cluster_managed"


class StateCasMismatch(Conflict):
    """Another operator has written the state of the cluster since it was read: `expected`."""

    code = "state_cas_mismatch"
    retryable = True


class Contention(Conflict):
    """Other writers won every race within the retry budget."""

    code = "contention"
    retryable = True


class ExpectedVersionMismatch(Conflict):
    """A table that this write read or wrote has changed: `table_key`, `expected`, `actual`."""

    code = "expected_version_mismatch"
    retryable = True


class ForeignLinks(Conflict):
    """Symbolic links lie among the graph's files, so nothing is removed from it."""

    code = "foreign_links"


class KeyConflict(Conflict):
    """An id is stored already."""

    code = "key_conflict"


class MergeConflicts(Conflict):
    """Two branches disagree; `conflicts` lists every place."""

    code = "merge_conflicts"


class NotMergeable(Conflict):
    """A proposal does not meet what its target demands: `reasons`, each with a code, and `checks`."""

    code = "not_mergeable"


class ProposalClosed(Conflict):
    """The proposal is merged or closed: `proposal`, `state`."""

    code = "proposal_closed"


class BatchLanded(Conflict):
    """This batch of a stream, or a later one, is in the graph already: `app_id`, `batch`, `landed`."""

    code = "batch_landed"


class PreconditionFailed(Conflict):
    """The branch head is not the commit that the caller named: `expected`, `actual`."""

    code = "precondition_failed"


class EmbeddingError(OmniError):
    """A text could not be turned into a vector."""

    code = "embedding_error"


class EmbeddingModelMismatch(EmbeddingError):
    """A property's vectors are not of the configured model: `expected`, `actual`."""

    code = "embedding_model_mismatch"


class EmbeddingNotConfigured(EmbeddingError):
    """No provider is configured, or what it needs (a key, a package) is missing."""

    code = "embedding_not_configured"


class EmbeddingRefused(EmbeddingError):
    """The provider does not accept the request: `status`."""

    code = "embedding_refused"


class EmbeddingUnavailable(EmbeddingError):
    """The provider could not be reached in time, however often it was asked; `retry_after` if it said so."""

    code = "embedding_unavailable"
    retryable = True


class InvalidEmbedding(EmbeddingError):
    """The provider's answer is not a vector of the dimension, or not finite, or all zero."""

    code = "embedding_invalid"


class PolicyDenied(OmniError):
    """The actor may not do this."""

    code = "policy_denied"


class BranchProtected(PolicyDenied):
    """Only a proposal may change this branch: `branch`, `actor`, `operation`."""

    code = "branch_protected"


class TooManyRequests(OmniError):
    """A server does as much as it may for this actor, or for all: `resource`, `limit`. Nothing was done."""

    code = "too_many_requests"
    retryable = True


class Unauthorized(OmniError):
    """The server needs a token, and got none, or one that nobody has."""

    code = "unauthorized"


class Unavailable(OmniError):
    """Storage could not be reached or refused the request."""

    code = "unavailable"
    retryable = True


class AccessDenied(Unavailable):
    """Storage refuses the credentials, or does not let them read."""

    code = "access_denied"
    retryable = False


class OutcomeUnknown(Unavailable):
    """A write may have happened or not, and nothing stored says which: `commit`, `branch`."""

    code = "outcome_unknown"
    retryable = False


class ReadOnly(Unavailable):
    """This handle, or the storage under it, cannot be written."""

    code = "read_only"
    retryable = False


class SparkFailed(Unavailable):
    """Spark did not start, could not be reached, or gave a job up after its own retries."""

    code = "spark_failed"


class SparkMissing(Unavailable):
    """What Spark runs on is not installed, or too old."""

    code = "spark_missing"
    retryable = False


class StorageMissing(Unavailable):
    """The bucket or folder does not exist."""

    code = "storage_missing"
    retryable = False


class CorruptState(OmniError):
    """Stored state is inconsistent."""

    code = "corrupt_state"


class FormatTooNew(CorruptState):
    """The graph was written by a later release: `found`, `supported`."""

    code = "format_too_new"


class FormatTooOld(CorruptState):
    """The graph was written by a release that this one cannot read: `found`, `supported`."""

    code = "format_too_old"


class UnreadablePlan(CorruptState):
    """A recovery plan cannot be parsed; it is kept: `path`."""

    code = "unreadable_plan"
