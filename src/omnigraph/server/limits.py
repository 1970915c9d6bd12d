"""How much requests may send, hold and take, and the environment variables that say so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from omnigraph.base.errors import BadInput

MIB = 1024 * 1024
GIB = 1024 * MIB


def _limit(default: float, meaning: str, variable: str) -> Any:
    return field(default=default, metadata={"meaning": meaning, "variable": f"OMNIGRAPH_{variable}"})


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one worker allows; each limit has a default and an environment variable."""

    body_bytes: int = _limit(MIB, "bytes of a body", "SERVER_BODY_BYTES")
    load_bytes: int = _limit(32 * MIB, "bytes of the body of a load, or of a blob", "SERVER_LOAD_BYTES")
    job_bytes: int = _limit(64 * GIB, "bytes of the body of a load that is a job", "SERVER_JOB_BYTES")
    answer_bytes: int = _limit(64 * MIB, "bytes of columns that are answered as JSON", "SERVER_ANSWER_BYTES")
    request_seconds: float = _limit(
        0.0, "how long a request may take until its answer begins; 0 for any time", "SERVER_REQUEST_SECONDS"
    )
    stall_seconds: float = _limit(
        60.0, "how long a client may send nothing of its body, or take nothing", "SERVER_STALL_SECONDS"
    )
    body_pace: float = _limit(
        1024.0, "bytes a second of a body that a client sends at least; 0 for any pace", "SERVER_BODY_PACE"
    )
    stop_seconds: float = _limit(
        30.0, "how long a worker finishes what runs when it is told to stop", "SERVER_STOP_SECONDS"
    )
    exit_seconds: float = _limit(
        15.0, "how long it may take after that to end its jobs and itself", "SERVER_EXIT_SECONDS"
    )
    threads: int = _limit(32, "reads, and writes, that run at once; others wait", "SERVER_THREADS")
    streams: int = _limit(64, "answers that are streamed at once", "SERVER_STREAMS")
    jobs: int = _limit(1, "jobs that a worker runs at once", "SERVER_JOBS")
    actor_requests: int = _limit(16, "writes of one actor at once", "PER_ACTOR_INFLIGHT_MAX")
    actor_bytes: int = _limit(4 * GIB, "bytes of bodies of one actor's writes at once", "PER_ACTOR_BYTES_MAX")

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> RequestLimits:
        """Return the defaults, changed by environment variables."""
        source = os.environ if environment is None else environment
        chosen: dict[str, Any] = {}
        for item in fields(RequestLimits):
            variable = item.metadata["variable"]
            if variable in source:
                chosen[item.name] = _number(variable, source[variable], isinstance(item.default, int))
        return RequestLimits(**chosen)


def _number(variable: str, text: str, whole: bool) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1
    least = 1 if whole else 0
    if not least <= value < float("inf"):
        raise BadInput(f"{variable}={text!r} is not a number of at least {least}", variable=variable)
    return value
