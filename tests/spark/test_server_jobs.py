"""Loads of a server through Spark, as jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from support.served_here import serving_here, wait_until


def test_a_load_that_is_a_job_runs_on_spark(tmp_path: Path, session: Any) -> None:
    og.init(tmp_path / "people", "node N { name: String @key }")
    lines = "".join(json.dumps({"type": "N", "data": {"name": f"{at}"}}) + "\n" for at in range(1_000))
    with serving_here(
        create_app(ServerConfig({"people": str(tmp_path / "people")}, state=tmp_path / "state"))
    ) as url:
        jobs = f"{url}/graphs/people/jobs"
        begun = httpx.post(f"{jobs}/load?format=ndjson&mode=append&engine=spark", content=lines).json()
        done: dict[str, Any] = {}

        def is_done() -> bool:
            done.update(httpx.get(f"{jobs}/{begun['id']}").json())
            return done["state"] not in ("queued", "running")

        wait_until(is_done, seconds=240)
    assert done["state"] == "succeeded", done
    assert (done["result"]["engine"], done["result"]["total_entities"]) == ("spark", 1_000)
    assert og.open(tmp_path / "people").snapshot().commit_id == done["result"]["commit"]
