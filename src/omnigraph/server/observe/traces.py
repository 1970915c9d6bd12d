"""Traces through OpenTelemetry, where it is configured; nothing is imported otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from omnigraph.base.errors import BadInput

_VARIABLES = (
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
_SPAN_FACTS = {
    "status": "http.response.status_code",
    "route": "http.route",
    "method": "http.request.method",
    "graph": "omnigraph.graph",
    "actor": "enduser.id",
    "commit": "omnigraph.commit",
    "code": "error.type",
    "request_id": "omnigraph.request_id",
}


class Traces:
    """One span for each request; a trace that the caller has begun goes on."""

    def __init__(self, provider: Any = None) -> None:
        from opentelemetry import trace

        self._trace = trace
        self._tracer = trace.get_tracer("omnigraph.server", tracer_provider=provider)

    def begin(self, method: str, headers: Mapping[str, str]) -> Any:
        """Return a span that begins now."""
        from opentelemetry.propagate import extract

        return self._tracer.start_span(
            method, context=extract(dict(headers)), kind=self._trace.SpanKind.SERVER
        )

    def end(self, span: Any, facts: Mapping[str, Any]) -> None:
        """End a span with what the log says of its request, and with the operations of storage."""
        if "route" in facts:
            span.update_name(f"{facts['method']} {facts['route']}")
        for name, attribute in _SPAN_FACTS.items():
            if name in facts:
                span.set_attribute(attribute, facts[name])
        for name, amount in (facts.get("storage") or {}).items():
            span.set_attribute(f"omnigraph.storage.{name}", amount)
        if facts["status"] >= 500:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()


def find_traces(environment: Mapping[str, str] | None = None) -> Traces | None:
    """Return how to trace when the environment says where to; None otherwise."""
    source = os.environ if environment is None else environment
    if source.get("OTEL_SDK_DISABLED", "").lower() == "true" or source.get(_VARIABLES[0]) == "none":
        return None
    if not any(source.get(name) for name in _VARIABLES):
        return None
    try:
        sdk = import_module("opentelemetry.sdk.trace")
        exporting = import_module("opentelemetry.sdk.trace.export")
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ModuleNotFoundError as error:
        raise BadInput(
            f"traces are configured, and the package {error.name} is missing: "
            "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
        ) from error
    provider = sdk.TracerProvider()
    provider.add_span_processor(exporting.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return Traces(provider)
