"""Requests made from the description: no answer is a fault, and every status is described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import given
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import status_code_conformance

import omnigraph as og
from support.examples import examples, model_settings
from support.served import TOKENS, Served, running_server

_EVENTS = "follow_job"
"""An answer that goes on until its job has ended."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    graph = og.init(folder / "people", "node Person { name: String @key  photo: Blob? }")
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    with running_server(folder, str(folder / "people")) as server:
        yield server


@schemathesis.serializer("application/x-ndjson", "application/octet-stream")
def as_bytes(context: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.mark.long
def test_no_request_is_a_fault_and_no_status_is_undescribed(server: Served) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
    schema = schemathesis.openapi.from_url(f"http://{server.address}/openapi.json")
    statuses: Counter[int] = Counter()
    faults = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.definition.raw["operationId"] == _EVENTS:
            continue

        @model_settings(examples(4))
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            if "graph" in (case.path_parameters or {}):
                case.path_parameters["graph"] = "people"
            answer = case.call(headers=headers, timeout=60)
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=[not_a_server_error, status_code_conformance])

        try:
            ask()
        except Exception as error:
            faults.append(f"{operation.label}: {error}")
    assert not faults, "\n\n".join(faults)
    assert sum(statuses.values()) > 150
    assert {200, 400, 404} <= set(statuses), statuses
