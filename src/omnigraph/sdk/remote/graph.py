"""`og.open("http://…/graphs/x")`: the graph that a server holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.compiler.ir.queries import Column
from omnigraph.execution.result import Result, Stream
from omnigraph.execution.write.mutate import Mutation
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
from omnigraph.graph.maintenance.optimize.optimize import Optimization
from omnigraph.graph.maintenance.verify.repair_report import Repair
from omnigraph.sdk.remote.branches import RemoteBranches, RemoteTags
from omnigraph.sdk.remote.history import RemoteChanges, RemoteCommits
from omnigraph.sdk.remote.loads import RemoteLoads, plain_json
from omnigraph.sdk.remote.schema import RemoteSchema
from omnigraph.sdk.remote.transport import Transport
from omnigraph.wire.media import ARROW
from omnigraph.wire.results import read_metadata
from omnigraph.wire.values import decode


class RemoteGraph(RemoteLoads):
    """An open graph on a server: a branch to work on. The token says who is working."""

    def __init__(self, uri: str, branch: str = "main", token: str | None = None) -> None:
        super().__init__(Transport(uri, token), branch)
        self.branches = RemoteBranches(self._transport)
        self.commits = RemoteCommits(self._transport, branch)
        self.tags = RemoteTags(self._transport, branch)
        self.changes = RemoteChanges(self._transport, branch)
        self.schema = RemoteSchema(self._transport, branch)
        self._transport.ask("/schema", branch=branch)  # what does not exist is an error now, not later

    @property
    def uri(self) -> str:
        """Where the graph is served."""
        return self._transport.uri

    def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        engine: str = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on a branch's head, or on what stands for a commit."""
        body = self._read_body(gq, params, name, branch, snapshot)
        body |= {"engine": engine, "timeout": timeout, "optimise": optimise}
        with self._transport.stream("/query", body, ARROW) as answer:
            reader = pa.ipc.open_stream(_PieceReader(answer.iter_bytes()))
            table = reader.read_all()
        columns, commit, _ = read_metadata(reader.schema.metadata)
        arrays = [column.combine_chunks() for column in table.columns]
        return Result(decode(tuple[Column, ...], columns), arrays, commit)

    def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        timeout: float | None = None,
    ) -> Stream:
        """Run a read query and return its rows as Arrow batches, while they come."""
        body = self._read_body(gq, params, name, branch, snapshot) | {"timeout": timeout}
        answers = self._stream_batches(body)
        schema = next(answers)
        columns, commit, _ = read_metadata(schema.metadata)
        return Stream(decode(tuple[Column, ...], columns), commit, answers)

    def _stream_batches(self, body: Mapping[str, Any]) -> Iterator[Any]:
        with self._transport.stream("/query", body, ARROW) as answer:
            reader = pa.ipc.open_stream(_PieceReader(answer.iter_bytes()))
            yield reader.schema
            yield from reader

    def prepare(self, gq: str, *, name: str | None = None) -> Callable[..., Result]:
        """Return a function that runs a read query: `p(params)`, on the newest state."""
        self.explain(gq, name=name)

        def run(params: Mapping[str, Any] | None = None, **where: Any) -> Result:
            return self.query(gq, params, name=name, **where)

        return run

    def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> RemoteExplanation:
        """Return the plan of a read query; with `analyze` it is run."""
        body = self._read_body(gq, params, name, branch, snapshot)
        body |= {"analyze": analyze, "timeout": timeout, "optimise": optimise}
        return RemoteExplanation(self._transport.read("/explain", body))

    def mutate(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
    ) -> Mutation:
        """Run a mutation query as one commit."""
        body = {
            "query": gq,
            "params": _plain_params(params),
            "name": name,
            "branch": branch or self.branch,
            "message": message,
            "retry": retry,
        }
        done = self._transport.write("/mutate", body, idempotency_key, if_commit)
        warnings = tuple(done["warnings"])
        return Mutation(done["commit"], done["affected_nodes"], done["affected_edges"], warnings)

    def export(
        self, *, branch: str | None = None, snapshot: str | None = None, types: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Return the records of a branch or commit, in the load format."""
        where = self._where(branch, snapshot)
        return self._records("/export", {**where, "type_names": list(types) if types is not None else None})

    def optimize(self, branch: str | None = None) -> Optimization:
        """Join fragments, fold new rows into indexes and build declared ones."""
        done = self._transport.act("POST", "/optimize", {"branch": branch or self.branch})
        return decode(Optimization, done)  # type: ignore[no-any-return]

    def ensure_indices(self, branch: str | None = None) -> Optimization:
        """Fold new rows into indexes and build declared ones that are missing."""
        body = {"branch": branch or self.branch, "indexes_only": True}
        return decode(Optimization, self._transport.act("POST", "/optimize", body))  # type: ignore[no-any-return]

    def cleanup(
        self,
        keep: int | None = None,
        older_than: str | None = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Cleanup:
        """Drop old commits and remove files that nothing needs."""
        body = {"keep": keep, "older_than": older_than, "dry_run": dry_run, "message": message}
        return decode(Cleanup, self._transport.act("POST", "/cleanup", body))  # type: ignore[no-any-return]

    def repair(self, confirm: bool = False, *, scrub: bool = False) -> Repair:
        """Verify the whole graph and explain what is inconsistent."""
        done = self._transport.act("POST", "/repair", {"confirm": confirm, "scrub": scrub})
        return decode(Repair, done)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of connections."""
        self._transport.close()

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteGraph({self.uri!r}, branch={self.branch!r})"

    def _read_body(
        self,
        gq: str,
        params: Mapping[str, Any] | None,
        name: str | None,
        branch: str | None,
        snapshot: str | None,
    ) -> dict[str, Any]:
        return {
            "query": gq,
            "params": _plain_params(params),
            "name": name,
            **self._where(branch, snapshot),
        }

    def _where(self, branch: str | None, snapshot: str | None) -> dict[str, str]:
        if snapshot is not None and branch is not None:
            raise BadInput("give a branch or a snapshot, not both")
        return {"snapshot": snapshot} if snapshot is not None else {"branch": branch or self.branch}


class RemoteExplanation:
    """The plan of a read query, as its server told it."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON data."""
        return dict(self._told["plan"])

    def __str__(self) -> str:
        return str(self._told["text"])


class _PieceReader:
    """Bytes that come in pieces, as a file that Arrow reads from."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end."""
        parts, have = [self._left], len(self._left)
        while size < 0 or have < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            parts.append(piece)
            have += len(piece)
        whole = b"".join(parts)
        cut = len(whole) if size < 0 else min(size, len(whole))
        self._left = whole[cut:]
        return whole[:cut]


def _plain_params(params: Mapping[str, Any] | None) -> Any:
    """Return parameters as JSON data; numbers keep all their digits."""
    return None if params is None else {name: plain_json(value) for name, value in params.items()}
