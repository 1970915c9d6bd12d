"""`LoadWork`: a load as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from omnigraph.base.errors import ExpectedVersionMismatch, OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource, ReadTable
from omnigraph.execution.load.find_rejected import find_rejected
from omnigraph.execution.load.keys.exact_check import check_all_kinds, check_exactly
from omnigraph.execution.load.keys.key_screen import KeyScreen, any_is_stored
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import NO_ROWS
from omnigraph.execution.load.metrics import LoadMetrics
from omnigraph.execution.load.mode import UPSERTS, Mode
from omnigraph.execution.load.other_problems import images_without, may_follow
from omnigraph.execution.load.progress import begin_phase
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.missing_vectors import MissingVectors, stale_vector_warning
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.write.integrity.problems import SHOWN_PROBLEMS, Problems, as_error, select_shown
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.namespace import Pin
from omnigraph.storage.tables.staging import StagedFragments

_MAX_ROWS_CHECKED_TOGETHER = 5_000_000
"""Of a larger load that is refused anyway, the rules between records are not checked."""
_NO_FRAGMENTS = StagedFragments((), 0)


class LoadWork:
    """Work for `commit`: the records of a source, read once, and checked against each new state."""

    operation = "load"
    commit_class = CommitClass.LOGICAL

    def __init__(
        self,
        executor: Executor,
        source: LoadSource,
        mode: Mode,
        catalog_at: Callable[[str], Catalog],
        quarantine: Quarantine | None = None,
        vectors: MissingVectors | None = None,
        metrics: LoadMetrics | None = None,
    ) -> None:
        """Take the executor, the source, the mode, where rejected records go, and what embeds texts.

        `metrics` may hold what was measured before, in another process.
        """
        self._executor = executor
        self._source = source
        self._mode: Mode = mode
        self._catalog_at = catalog_at
        self._quarantine = quarantine
        self._vectors = vectors
        self.metrics = metrics or LoadMetrics()
        self._read: ReadSource = ReadSource({}, PlacedProblems(), None)
        self._completed_from: dict[str, Pin] = {}
        self.nodes: dict[str, int] = {}
        self.edges: dict[str, int] = {}

    @property
    def repeatable(self) -> bool:
        """Whether it may be applied to a newer state; an overwrite saw all rows of its tables."""
        return self._mode != "overwrite"

    @property
    def can_stage_again(self) -> bool:
        """Whether the source can be read once more."""
        return self._executor.can_read_again

    def answer(self) -> Mapping[str, Any]:
        """Return how many records of each type were loaded."""
        return {"nodes": dict(self.nodes), "edges": dict(self.edges)}

    def metadata(self) -> Mapping[str, str]:
        """Return what was measured so far; how long publishing takes is not known before it is over."""
        rows = sum(self.nodes.values()) + sum(self.edges.values())
        rejected = self._quarantine.count if self._quarantine else 0
        return self.metrics.as_metadata(rows, rejected, self.warnings())

    def warnings(self) -> tuple[str, ...]:
        """Return what to know of a right load: lost digits and vectors, edges that cannot be found."""
        cut = tuple(
            f"{name} has milliseconds: further digits of its values were cut"
            for name in sorted(self._read.cut)
        )
        if self._mode not in UPSERTS:
            return cut
        return (*cut, *self._warn_of_stale_vectors(), *self._warn_of_lost_edges())

    def _warn_of_stale_vectors(self) -> Iterator[str]:
        if self._vectors is not None and self._vectors.can_fill:
            return
        for part in self._read.tables.values():
            for item in part.table.properties:
                if f"{part.table.name}.{item.name}" in self._read.stale:
                    yield stale_vector_warning(part.table.name, item)

    def _warn_of_lost_edges(self) -> tuple[str, ...]:
        return tuple(
            f"{_count_edges(part)} neither a key nor an id: a {self._mode} adds them, and the same load adds "
            f"them again: declare @key(src, dst) in edge {part.table.name}, or give each record an id"
            for _, part in sorted(self._read.tables.items())
            if part.table.kind == "edge" and not part.table.key and part.rows > part.rows_with_id
        )

    def stage(self, base: WriteBase) -> None:
        """Read and check every record, and write the rows."""
        self._catalog = self._catalog_at(base.state.head.schema)
        with self.metrics.spend("read"):
            self._read = self._read_source(base)
        with self._finish_reads_on_failure():
            if self._read.problems.total:
                raise self._describe_problems(base)
        for part in self._read.tables.values():
            self._counts(part.table)[part.table.name] = part.rows
        self._completed_from = self._versions(base)

    def _versions(self, base: WriteBase) -> dict[str, Pin]:
        """Return the table versions that patches were completed from; two branches may number alike."""
        keys = self._read.tables if self._mode == "patch" else ()
        return {key: base.rely_on(key).pin for key in keys}

    def _complete_again(self, base: WriteBase) -> None:
        """Read patches again when another writer has changed their tables."""
        now = self._versions(base)
        changed = [key for key, pin in self._completed_from.items() if now[key].path != pin.path]
        if not changed:
            return
        if self._quarantine is not None:  # its file is written already
            key = changed[0]
            raise ExpectedVersionMismatch(
                f"{key} was changed by another writer while its rows were patched: load again",
                table_key=key,
                expected=self._completed_from[key].version,
                actual=now[key].version,
            )
        self.stage(base)

    def _read_source(self, base: WriteBase) -> ReadSource:
        order = ReadOrder(self._source, self._catalog, self._mode, self._vectors)
        if self._quarantine is None:
            return self._executor.read(order, base)
        rejected = find_rejected(self._executor, order, base)
        with self._quarantine.open_draft(self._source.locate, rejected) as put_away:
            return self._executor.read(replace(order, skip=frozenset(rejected), skipped=put_away), base)

    def apply(self, base: WriteBase) -> None:
        """Check the rows together with what is stored, and stage the tables."""
        self._complete_again(base)
        with self._finish_reads_on_failure():
            with self.metrics.spend("check"):
                images = {} if self._is_surely_right(base) else self._check_exactly(base)
            parts = sorted(self._read.tables.items())
            with self.metrics.spend("write"):
                self._executor.run(
                    [partial(self._stage_table, base, part, images.get(key)) for key, part in parts]
                )
        begin_phase("publish")

    @contextmanager
    def _finish_reads_on_failure(self) -> Iterator[None]:
        """On failure, wait until no file is being written."""
        try:
            yield
        except BaseException:
            self._read.wait()
            raise

    def _is_surely_right(self, base: WriteBase) -> bool:
        tables = [self._read.tables[key].table for key in sorted(self._read.tables)]
        keys = self._read.keys
        return keys is not None and KeyScreen(keys, self._catalog, self._mode, tables, base).passes()

    def _describe_problems(self, base: WriteBase) -> OmniError:
        """Return the error of records that are wrong by themselves, with what is wrong between the others."""
        placed = self._read.problems
        told = [problem for _, problem in placed.list_first()]
        between = Problems()
        if sum(part.rows for part in self._read.tables.values()) <= _MAX_ROWS_CHECKED_TOGETHER:
            images = images_without(self._read.tables, told, base, self._mode, self._source.locate)
            check_all_kinds(self._catalog, images, BranchRows(base), between)
        wrong_types = {problem.type_name for problem in told}
        others = [problem for problem in between.found if not may_follow(problem, wrong_types, self._catalog)]
        total = placed.total + len(others)
        return as_error(select_shown([*told, *others], SHOWN_PROBLEMS), total)

    def _check_exactly(self, base: WriteBase) -> dict[str, TableImage]:
        """Check all keys by the exact rules, and raise what they find."""
        locate = self._source.locate
        images = {
            key: TableImage(part.table, part.keys(base), self._mode, locate)
            for key, part in sorted(self._read.tables.items())
        }
        problems = Problems()
        check_exactly(self._catalog, images, BranchRows(base), problems)
        if problems.total:
            problems = Problems()
            check_all_kinds(self._catalog, images, BranchRows(base), problems)
        problems.raise_if_any()
        return images

    def _stage_table(self, base: WriteBase, part: ReadTable, image: TableImage | None) -> None:
        """Stage the rows of a table except those that its final image drops."""
        table, dropped = base.table(part.table.table_key), image.dropped if image else NO_ROWS
        if image is not None and image.doubles:
            self._counts(part.table)[part.table.name] = part.rows - image.doubles
        key = part.table.table_key
        if self._mode in UPSERTS and part.rows and self._any_is_stored(base, part, image):
            before = table.file_sizes()
            part.merge(base, dropped)
            added = base.table(key).file_sizes().items() - before.items()
            self.metrics.bytes_written[key] = sum(size for _, size in added)
        else:
            staged = None if len(dropped) else part.collect_fragments(base)
            if staged is None:
                staged = table.write_rows(part.reader(base, dropped)) if part.rows else _NO_FRAGMENTS
            self.metrics.bytes_written[key] = staged.size_bytes
            if self._mode == "overwrite":
                table.overwrite(staged)
            elif staged.rows:
                table.append(staged)
        hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

    def _any_is_stored(self, base: WriteBase, part: ReadTable, image: TableImage | None) -> bool:
        if self._read.keys is not None:
            return any_is_stored(self._read.keys, part.table, base)
        assert image is not None
        known = image.delta.ids.filter(image.could_be_stored)
        return len(known) > 0 and len(BranchRows(base).ids_among(part.table.table_key, known)) > 0

    def _counts(self, table: TableType) -> dict[str, int]:
        return self.nodes if isinstance(table, NodeType) else self.edges


def _count_edges(part: ReadTable) -> str:
    count = part.rows - part.rows_with_id
    return f"{count} edge{'s' if count > 1 else ''} of {part.table.name} {'have' if count > 1 else 'has'}"
