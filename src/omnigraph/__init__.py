"""OmniGraph: a typed property graph, versioned, branched and merged like a Git repository."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import (
    AccessDenied,
    AlreadyExists,
    BadInput,
    BatchLanded,
    BranchGone,
    BranchInUse,
    BranchProtected,
    ChangeCursorRejected,
    ChangeDiffRefusal,
    ChangeFeedGap,
    ClusterInvalid,
    ClusterLockHeld,
    ClusterManaged,
    Conflict,
    Contention,
    CorruptState,
    EmbeddingError,
    EmbeddingModelMismatch,
    EmbeddingNotConfigured,
    EmbeddingRefused,
    EmbeddingUnavailable,
    ExpectedVersionMismatch,
    ForeignLinks,
    FormatTooNew,
    FormatTooOld,
    HistoricalVersionReclaimed,
    InvalidEmbedding,
    InvalidName,
    KeyConflict,
    MergeConflicts,
    NotAGraph,
    NotFound,
    NotMergeable,
    OmniError,
    OutcomeUnknown,
    ParameterError,
    ParseError,
    PolicyDenied,
    PreconditionFailed,
    ProposalClosed,
    ReadOnly,
    ResourceLimit,
    SchemaChangeUnsupported,
    SchemaWouldDrop,
    SparkFailed,
    SparkMissing,
    StateCasMismatch,
    StorageMissing,
    StoredQueryBroken,
    TooManyRequests,
    TypeCheckError,
    Unauthorized,
    Unavailable,
    UnreadablePlan,
    ValidationError,
)

if TYPE_CHECKING:
    from omnigraph.embedding.config import EmbeddingConfig
    from omnigraph.execution.embed.backfill import Backfill
    from omnigraph.execution.load.run import Load
    from omnigraph.execution.plan.explain import Explanation
    from omnigraph.execution.result import Result, Stream
    from omnigraph.execution.write.mutate import Mutation
    from omnigraph.graph.backup.run import Backup
    from omnigraph.graph.backup.verify import Verification
    from omnigraph.graph.branches.info import BranchInfo
    from omnigraph.graph.history import Commit
    from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
    from omnigraph.graph.maintenance.optimize.optimize import Optimization
    from omnigraph.graph.maintenance.verify.repair_report import Repair
    from omnigraph.graph.merge.conflicts import MergeConflict
    from omnigraph.graph.merge.rebase import Rebase
    from omnigraph.graph.merge.run import Merge
    from omnigraph.graph.proposals.model import Mergeability, Proposal
    from omnigraph.graph.snapshot import TableInfo
    from omnigraph.graph.tags import Tag
    from omnigraph.sdk.aio.handles import (
        AsyncBlob,
        AsyncDiff,
        AsyncGraph,
        AsyncSnapshot,
        AsyncStream,
        ainit,
        aopen,
    )
    from omnigraph.sdk.graph import Graph
    from omnigraph.sdk.opening import init, open
    from omnigraph.sdk.restoring import backups, restore, verify_backup
    from omnigraph.sdk.snapshot import Snapshot

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "AsyncBlob",
    "AsyncDiff",
    "AsyncGraph",
    "AsyncSnapshot",
    "AsyncStream",
    "Backfill",
    "Backup",
    "BadInput",
    "BatchLanded",
    "BranchGone",
    "BranchInUse",
    "BranchInfo",
    "BranchProtected",
    "ChangeCursorRejected",
    "ChangeDiffRefusal",
    "ChangeFeedGap",
    "Cleanup",
    "ClusterInvalid",
    "ClusterLockHeld",
    "ClusterManaged",
    "Commit",
    "Conflict",
    "Contention",
    "CorruptState",
    "EmbeddingConfig",
    "EmbeddingError",
    "EmbeddingModelMismatch",
    "EmbeddingNotConfigured",
    "EmbeddingRefused",
    "EmbeddingUnavailable",
    "ExpectedVersionMismatch",
    "Explanation",
    "ForeignLinks",
    "FormatTooNew",
    "FormatTooOld",
    "Graph",
    "HistoricalVersionReclaimed",
    "InvalidEmbedding",
    "InvalidName",
    "KeyConflict",
    "Load",
    "Merge",
    "MergeConflict",
    "MergeConflicts",
    "Mergeability",
    "Mutation",
    "NotAGraph",
    "NotFound",
    "NotMergeable",
    "OmniError",
    "Optimization",
    "OutcomeUnknown",
    "ParameterError",
    "ParseError",
    "PolicyDenied",
    "PreconditionFailed",
    "Proposal",
    "ProposalClosed",
    "ReadOnly",
    "Rebase",
    "Repair",
    "ResourceLimit",
    "Result",
    "SchemaChangeUnsupported",
    "SchemaWouldDrop",
    "Snapshot",
    "SparkFailed",
    "SparkMissing",
    "StateCasMismatch",
    "StorageMissing",
    "StoredQueryBroken",
    "Stream",
    "TableInfo",
    "Tag",
    "TooManyRequests",
    "TypeCheckError",
    "Unauthorized",
    "Unavailable",
    "UnreadablePlan",
    "ValidationError",
    "Verification",
    "ainit",
    "aopen",
    "backups",
    "init",
    "open",
    "restore",
    "verify_backup",
]

# Lance takes a second to import; what needs it is loaded when it is first used.
_LOADED_ON_USE = {
    "init": "omnigraph.sdk.opening",
    "open": "omnigraph.sdk.opening",
    "aopen": "omnigraph.sdk.aio.handles",
    "ainit": "omnigraph.sdk.aio.handles",
    "AsyncGraph": "omnigraph.sdk.aio.handles",
    "AsyncSnapshot": "omnigraph.sdk.aio.handles",
    "AsyncStream": "omnigraph.sdk.aio.handles",
    "AsyncDiff": "omnigraph.sdk.aio.handles",
    "AsyncBlob": "omnigraph.sdk.aio.handles",
    "backups": "omnigraph.sdk.restoring",
    "restore": "omnigraph.sdk.restoring",
    "verify_backup": "omnigraph.sdk.restoring",
    "Backup": "omnigraph.graph.backup.run",
    "Verification": "omnigraph.graph.backup.verify",
    "Graph": "omnigraph.sdk.graph",
    "EmbeddingConfig": "omnigraph.embedding.config",
    "Backfill": "omnigraph.execution.embed.backfill",
    "Load": "omnigraph.execution.load.run",
    "Mutation": "omnigraph.execution.write.mutate",
    "Explanation": "omnigraph.execution.plan.explain",
    "Result": "omnigraph.execution.result",
    "Stream": "omnigraph.execution.result",
    "BranchInfo": "omnigraph.graph.branches.info",
    "Commit": "omnigraph.graph.history",
    "Merge": "omnigraph.graph.merge.run",
    "Rebase": "omnigraph.graph.merge.rebase",
    "MergeConflict": "omnigraph.graph.merge.conflicts",
    "Mergeability": "omnigraph.graph.proposals.model",
    "Proposal": "omnigraph.graph.proposals.model",
    "Optimization": "omnigraph.graph.maintenance.optimize.optimize",
    "Cleanup": "omnigraph.graph.maintenance.cleanup.cleanup",
    "Repair": "omnigraph.graph.maintenance.verify.repair_report",
    "Tag": "omnigraph.graph.tags",
    "Snapshot": "omnigraph.sdk.snapshot",
    "TableInfo": "omnigraph.graph.snapshot",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    value = getattr(import_module(_LOADED_ON_USE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LOADED_ON_USE])
