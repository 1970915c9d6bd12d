"""What each operation answers with, by its name: the types of answers in JSON, and whatever else is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.execution.embed.backfill import Backfill
from omnigraph.graph.branches.info import BranchInfo
from omnigraph.graph.history import Commit
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
from omnigraph.graph.maintenance.optimize.optimize import Optimization
from omnigraph.graph.merge.rebase import Rebase
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.proposals.model import Mergeability, Proposal, ProposalPage
from omnigraph.graph.tags import Tag
from omnigraph.sdk.entities.entities import CombinedNodes
from omnigraph.sdk.queries.handle import QueriesApply
from omnigraph.sdk.schema import SchemaApply
from omnigraph.server.description import more_shapes, shapes
from omnigraph.wire.media import ARROW, JSON, NDJSON
from omnigraph.wire.schemas import SchemaBook

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_TEXT = {"schema": {"type": "string"}}
_ROWS = {NDJSON: _TEXT, ARROW: _BINARY}
IN_JSON: Mapping[str, Any] = {
    "show_health": shapes.Health,
    "show_readiness": shapes.Readiness,
    "list_graphs": shapes.GraphNames,
    "show_graph": shapes.HandleAnswer,
    "show_access": shapes.AccessAnswer,
    "run_query": shapes.QueryAnswer,
    "explain_query": shapes.PlanAnswer,
    "show_snapshot": shapes.SnapshotAnswer,
    "show_exported": shapes.ExportedTypes,
    "run_mutation": shapes.MutationAnswer,
    "run_mutation_if": shapes.MutationAnswer,
    "load_text": shapes.LoadAnswer,
    "load_records": shapes.LoadAnswer,
    "list_queries": shapes.StoredQueries,
    "show_query": shapes.StoredQueryAnswer,
    "apply_queries": QueriesApply,
    "run_stored_query": shapes.QueryAnswer | shapes.MutationAnswer,
    "run_stored_query_if": shapes.QueryAnswer | shapes.MutationAnswer,
    "list_branches": shapes.BranchesPage,
    "create_branch": BranchInfo,
    "merge_branch": Merge,
    "describe_branch": BranchInfo,
    "rename_branch": shapes.BranchName,
    "reset_branch": Merge,
    "rebase_branch": Rebase,
    "restore_branch": BranchInfo,
    "list_tags": shapes.TagsPage,
    "create_tag": Tag,
    "list_commits": shapes.CommitsPage,
    "show_commit": Commit,
    "show_changes": more_shapes.CommitChangesAnswer,
    "revert_actor": Merge,
    "revert_commit": Merge,
    "pick_commit": Merge,
    "show_diff": more_shapes.DiffAnswer,
    "sum_diff": more_shapes.DiffSummary,
    "poll_changes": more_shapes.FeedAnswer,
    "apply_changes": more_shapes.CommitAnswer,
    "describe_blob": more_shapes.BlobAnswer,
    "put_blob": more_shapes.BlobWritten,
    "clear_blob": more_shapes.BlobWritten,
    "show_entity": more_shapes.EntityAnswer,
    "list_edges": more_shapes.EdgesPage,
    "show_history": more_shapes.EntityHistory,
    "show_blame": more_shapes.EntityBlame,
    "reset_entity": more_shapes.CommitAnswer,
    "combine_entities": CombinedNodes,
    "find_same_entities": more_shapes.SameGroups,
    "show_schema": more_shapes.SchemaAnswer,
    "plan_schema": more_shapes.SchemaPlanAnswer,
    "apply_schema": SchemaApply,
    "show_tables": more_shapes.TablesAnswer,
    "optimize_graph": Optimization,
    "embed_texts": Backfill,
    "clean_graph": Cleanup,
    "repair_graph": more_shapes.RepairAnswer,
    **dict.fromkeys(
        ("begin_load", "begin_job", "run_pipeline", "show_job", "cancel_job"), more_shapes.JobAnswer
    ),
    "list_pipelines": more_shapes.Pipelines,
    "list_jobs": more_shapes.JobsPage,
    **dict.fromkeys(
        (
            *("create_proposal", "show_proposal", "comment_on_proposal", "approve_proposal"),
            *("request_changes", "resolve_proposal", "close_proposal", "reopen_proposal"),
        ),
        Proposal,
    ),
    "list_proposals": more_shapes.ProposalsPage,
    "poll_proposals": ProposalPage,
    "judge_proposal": Mergeability,
    "merge_proposal": Merge,
    "list_tables": more_shapes.LanceTables,
    "list_namespaces": more_shapes.LanceNamespaces,
    "describe_namespace": more_shapes.LanceNamespace,
    "check_namespace": more_shapes.Nothing,
    "list_versions": more_shapes.LanceVersions,
    "describe_version": more_shapes.LanceVersion,
    "describe_table": more_shapes.LanceTable,
    "check_table": more_shapes.Nothing,
    "count_rows": int,
}
"""Of the operations that answer in JSON."""
OTHERWISE: Mapping[str, Mapping[str, Any]] = {
    "run_query": _ROWS,
    "run_stored_query": _ROWS,
    "run_stored_query_if": _ROWS,
    "export_graph": {NDJSON: _TEXT},
    "take_baseline": {NDJSON: _TEXT},
    "read_blob": {"application/octet-stream": _BINARY},
    "follow_job": {"text/event-stream": _TEXT},
    "show_metrics": {"text/plain": _TEXT},
}
"""Other forms of answers, by media type; of some operations the only ones."""


def describe_answers(book: SchemaBook, name: str, status: str, answer: dict[str, Any]) -> None:
    """Describe what an operation answers with a status that is not of an error."""
    content = answer.setdefault("content", {})
    content.clear()
    if name in IN_JSON and status in ("200", "201", "202"):
        content[JSON] = {"schema": book.describe(IN_JSON[name])}
    if status in ("200", "206"):
        content.update(OTHERWISE.get(name, {}))
    if not content:
        del answer["content"]
