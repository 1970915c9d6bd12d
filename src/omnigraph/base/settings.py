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

    publish_retries: int = _setting(5, "lost races after which a writer prepares its write again")
    prepare_retries: int = _setting(32, "how often an insert is prepared again before it raises `contention`")
    turn_seconds: float = _setting(2.0, "seconds that a writer waits for other writers on this machine")
    fsync: int = _setting(
        1, "1: a finished write on a local disk survives a power cut; 0: it survives only a killed process", 1
    )
    swap_seconds: float = _setting(
        1.0, "seconds that others wait, once, for a process that stopped while it replaced a control file"
    )
    plan_lease_seconds: float = _setting(
        600.0, "seconds after which a pending write of another machine counts as abandoned"
    )
    idempotency_seconds: float = _setting(
        604_800.0, "seconds for which an idempotency key is remembered, at least"
    )
    cleanup_grace_seconds: float = _setting(
        86_400.0, "seconds for which cleanup keeps files that no commit needs yet"
    )
    write_hold_seconds: float = _setting(
        600.0,
        "seconds after which cleanup no longer waits for a write that asked it to wait, unless it asks again",
    )
    write_hold_limit_seconds: float = _setting(
        604_800.0, "seconds for which a write can make cleanup keep what it needs and has staged"
    )
    backup_hold_seconds: float = _setting(
        43_200.0, "seconds after which cleanup may remove files that a killed backup protected"
    )
    open_tables: int = _setting(256, "opened table versions that a handle keeps")
    verify_bytes: int = _setting(
        268_435_456, "bytes of a table version that are compared with their checksums when it is opened"
    )
    verify_remote: int = _setting(
        0, "1: checksums of table files are also compared on object storage, where each costs a request"
    )
    mutation_rows: int = _setting(1_000_000, "rows that one mutation may touch; a load has no limit")
    commit_text_bytes: int = _setting(
        65_536, "bytes that the message, the actor and all metadata of a commit may each have"
    )
    stored_query_bytes: int = _setting(1_048_576, "bytes that all stored queries of a graph may have")
    proposal_bytes: int = _setting(
        4_194_304, "bytes that a proposal may have, with its comments and saved answers"
    )
    query_rows: int = _setting(50_000_000, "rows that a query may have in progress at one time")
    query_bytes: int = _setting(4_294_967_296, "bytes of memory that the rows of one query may take")
    query_seconds: float = _setting(0.0, "seconds that a query may take; 0 for no limit")
    cache_bytes: int = _setting(
        4_294_967_296, "bytes of memory for columns and adjacency that queries of a handle have read"
    )
    async_threads: int = _setting(32, "calls of one `AsyncGraph` that run at once; others wait for a thread")
    maintenance_concurrency: int = _setting(8, "tables that `optimize` works on at once")
    small_fragments: int = _setting(
        16, "fragments of similar size that a table may have before they are joined"
    )
    embedding_timeout_seconds: float = _setting(
        30.0, "seconds that one request to an embedding provider may take"
    )
    embedding_deadline_seconds: float = _setting(
        60.0, "seconds that one batch of texts may take, repeated requests included"
    )
    embedding_retries: int = _setting(4, "how often a failed request to an embedding provider is repeated")
    embedding_batch: int = _setting(64, "texts in one request to an embedding provider")
    embedding_requests_at_once: int = _setting(4, "requests to an embedding provider that run at once")
    embedding_requests_per_minute: int = _setting(
        0, "requests to an embedding provider in a minute; 0 for no limit"
    )
    embedding_cache_bytes: int = _setting(
        67_108_864, "bytes of memory for the vectors of texts that were embedded before"
    )
    blob_source_bytes: int = _setting(
        67_108_864, "bytes that a file may have whose address is given for a blob"
    )
    lineage_seconds: float = _setting(5.0, "seconds that a load waits for the receiver of its lineage events")
    spark_load_bytes: int = _setting(
        536_870_912, 'size of the source in bytes from which `engine="auto"` loads on Spark'
    )
    spark_driver_keys: int = _setting(
        100_000_000,
        "keys of a load that the driver of Spark compares; if there are more, the workers join them",
    )
    spark_query_rows: int = _setting(
        1_000_000_000, 'expected rows of a step from which `engine="auto"` runs a query on Spark'
    )
    spark_optimize_rows: int = _setting(
        100_000_000, 'rows of a branch from which `engine="auto"` runs `optimize` on Spark'
    )
    spark_index_rows: int = _setting(
        500_000, "smallest number of rows for which a task of Spark builds an index"
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
