"""Limits and budgets, each with a default, an environment variable and one line of documentation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from omnigraph.base.errors import BadInput

PREFIX = "OMNIGRAPH_"
LONGEST_SECONDS = 3_155_760_000.0
"""A hundred years: dates and clocks do not go much farther back or forward."""
LARGEST_NUMBER = 2**53


def _setting(default: float, meaning: str, largest: float = LARGEST_NUMBER) -> Any:
    return field(default=default, metadata={"meaning": meaning, "largest": largest})


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be tuned; the variable of `publish_retries` is OMNIGRAPH_PUBLISH_RETRIES, and so on."""

    publish_retries: int = _setting(5, "lost races before a publish is prepared again")
    prepare_retries: int = _setting(32, "times that an insert is prepared again before it reports contention")
    turn_seconds: float = _setting(2.0, "how long a writer waits for other processes of this machine")
    fsync: int = _setting(
        1, "1 when what a local disk acknowledges survives a power cut, 0 when only a killed process", 1
    )
    swap_seconds: float = _setting(
        1.0, "how long others wait, once, for a process that stopped while it replaced a control file"
    )
    plan_lease_seconds: float = _setting(600.0, "age at which a plan of another machine counts as abandoned")
    idempotency_seconds: float = _setting(
        604_800.0, "age at which cleanup forgets an idempotency key; until then the write is not made again"
    )
    cleanup_grace_seconds: float = _setting(
        86_400.0, "age below which cleanup leaves files alone that no commit has named yet"
    )
    write_hold_seconds: float = _setting(
        600.0, "age at which cleanup ignores that a write asked it to wait and did not ask again"
    )
    write_hold_limit_seconds: float = _setting(
        604_800.0, "how long a write can ask cleanup to leave alone what it stands on and has staged"
    )
    backup_hold_seconds: float = _setting(
        43_200.0, "age at which files that a killed backup protected from cleanup may be removed"
    )
    open_tables: int = _setting(256, "opened table versions that a handle keeps")
    verify_bytes: int = _setting(
        268_435_456, "bytes of a table version that are compared with their checksums when it is opened"
    )
    verify_remote: int = _setting(
        0, "1 for checksums of table files also on object storage, where each costs a request"
    )
    mutation_rows: int = _setting(1_000_000, "rows that one mutation may touch; a load has no limit")
    commit_text_bytes: int = _setting(65_536, "bytes that the message of a commit, and its actor, may have")
    stored_query_bytes: int = _setting(1_048_576, "bytes that the stored queries of a graph have at most")
    proposal_bytes: int = _setting(
        4_194_304, "bytes that a proposal may have, with its comments and saved answers"
    )
    query_rows: int = _setting(50_000_000, "rows that a query may hold on its way to a result")
    query_bytes: int = _setting(4_294_967_296, "memory that the rows of one query may take")
    query_seconds: float = _setting(0.0, "how long one query may take; 0 for any time")
    cache_bytes: int = _setting(
        4_294_967_296, "memory for columns and adjacency that queries of a handle have read"
    )
    async_threads: int = _setting(32, "calls of one `AsyncGraph` that run at once; others wait for a thread")
    maintenance_concurrency: int = _setting(8, "tables that `optimize` works on at once")
    small_fragments: int = _setting(
        16, "fragments of about one size that a table may have before they are joined"
    )
    embedding_timeout_seconds: float = _setting(
        30.0, "how long one request to an embedding provider may take"
    )
    embedding_deadline_seconds: float = _setting(
        60.0, "how long one batch of texts may take, repeated requests included"
    )
    embedding_retries: int = _setting(4, "times that a failed request to an embedding provider is repeated")
    embedding_batch: int = _setting(64, "texts in one request to an embedding provider")
    embedding_requests_at_once: int = _setting(4, "requests to an embedding provider that run side by side")
    embedding_requests_per_minute: int = _setting(
        0, "requests to an embedding provider in a minute; 0 for any number"
    )
    embedding_cache_bytes: int = _setting(67_108_864, "memory for the vectors of texts that were seen before")
    blob_source_bytes: int = _setting(
        67_108_864, "largest file that a blob is read from, given by its address"
    )
    lineage_seconds: float = _setting(5.0, "how long a load waits for who takes its lineage events")
    spark_load_bytes: int = _setting(
        536_870_912, "bytes of files from which on a load runs on Spark by itself"
    )
    spark_driver_keys: int = _setting(
        100_000_000,
        "keys of a load that the driver of Spark compares; more of them are joined by the workers",
    )
    spark_query_rows: int = _setting(
        1_000_000_000, "rows expected at a step of a plan from which on a query runs on Spark by itself"
    )
    spark_optimize_rows: int = _setting(
        100_000_000, "rows of a branch from which on `optimize` runs on Spark by itself"
    )
    spark_index_rows: int = _setting(
        500_000, "rows that a task of Spark builds an index of, at least; fewer are not worth a task"
    )
    spark_split_bytes: int = _setting(67_108_864, "bytes of a file that one task of Spark reads")

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
        """Return the defaults, changed by environment variables."""
        source = os.environ if environment is None else environment
        chosen: dict[str, Any] = {}
        for item in fields(Settings):
            name = PREFIX + item.name.upper()
            if name in source:
                largest = LONGEST_SECONDS if item.name.endswith("_seconds") else item.metadata["largest"]
                chosen[item.name] = _number(name, source[name], isinstance(item.default, int), largest)
        return Settings(**chosen)


def _number(name: str, text: str, whole: bool, largest: float) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= largest:
        kind = "a whole number" if whole else "a number"
        expected = "0 or 1" if largest == 1 else f"{kind} of at least 0 and at most {largest:.0f}"
        raise BadInput(
            f"{name}={text!r} is not {expected}",
            variable=name,
            value=text,
        )
    return value
