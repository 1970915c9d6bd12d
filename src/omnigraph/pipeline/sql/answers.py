"""What the catalog in Java asks of a graph: the answer is a field of a schema, and its facts are metadata.

Spark asks a data source in Python for its schema without starting a job, so a question costs one call. An
error is an answer too: Java then has its words, and no traceback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.types import StructField, StructType

from omnigraph.base.errors import AlreadyExists, BadInput, OmniError
from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.model import EdgeType, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.lineage.follow import LoadFacts, follow_load
from omnigraph.graph.schema_apply.application import SchemaApplication
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.error_transport import note_of
from omnigraph.pipeline.jobs.widen_type import widen_type
from omnigraph.pipeline.spark_types import spark_schema
from omnigraph.pipeline.sql.aggregates import is_aggregable
from omnigraph.pipeline.sql.conditions import is_comparable, read_conditions
from omnigraph.pipeline.sql.new_types import text_without, type_text
from omnigraph.pipeline.sql.places import (
    Namespace,
    NoSuchName,
    find_namespace,
    find_snapshot,
    find_type,
    list_namespaces,
    open_graph_of,
)
from omnigraph.pipeline.sql.procedures import PROCEDURES, row_schema
from omnigraph.pipeline.sql.row_changes import DeletedWhere
from omnigraph.pipeline.sql.system_tables import system_names, system_schema
from omnigraph.pipeline.steps.declared_order import declared_order

Question = Mapping[str, str]
_MEMBER_BYTES = 4
"""Bytes of one number of a vector."""


def answer(told: Question) -> StructType:
    """Answer a question of the catalog."""
    try:
        field = _QUESTIONS[told["ask"]](told)
    except NoSuchName as error:
        field = make_answer(missing=str(error))
    except OmniError as error:
        field = make_answer(error=error.message, note=note_of(error))
    return StructType([field])


def make_answer(schema: StructType | None = None, **facts: Any) -> StructField:
    """Return an answer: some columns, and facts."""
    return StructField("answer", schema or StructType([]), metadata=facts)


def _list_namespaces(told: Question) -> StructField:
    graph = open_graph_of(told)
    above = find_namespace(graph, told["namespace"]) if "namespace" in told else None
    return make_answer(names=list_namespaces(graph, above))


def _describe_namespace(told: Question) -> StructField:
    where = find_namespace(open_graph_of(told), told["namespace"])
    kind = f"tag {where.tag}" if where.tag else f"branch {where.branch}"
    return make_answer(comment=f"facts about {kind}" if where.is_system else kind)


def _list_tables(told: Question) -> StructField:
    graph = open_graph_of(told)
    where = find_namespace(graph, told["namespace"])
    if where.is_system:
        return make_answer(names=system_names())
    tables = find_snapshot(graph, where, told).catalog.tables
    names = [table.name for table in tables]
    return make_answer(
        names=[table.name if names.count(table.name) == 1 else table.table_key for table in tables]
    )


def _describe_table(told: Question) -> StructField:
    graph = open_graph_of(told)
    where = find_namespace(graph, told["namespace"])
    snapshot = find_snapshot(graph, where, told)
    if where.is_system:
        name = told["table"].lower()
        if (schema := system_schema(name)) is None:
            raise NoSuchName(f"there is no table {told['table']!r} among {', '.join(system_names())}")
        return make_answer(
            schema, **_commit_facts(snapshot), table=f"system:{name}", rows=len(snapshot.tables), live=True
        )
    table = find_type(snapshot, told["table"])
    rows = next(info.rows for info in snapshot.tables if info.key == table.table_key)
    return make_answer(
        sql_schema(table, snapshot.schema_source),
        **_commit_facts(snapshot),
        **_type_facts(table),
        **_write_facts(where, told),
        rows=rows,
    )


def sql_schema(table: TableType, source: str) -> StructType:
    """Return the columns of a type: the id, which is only read, and those that are written too."""
    fields = []
    order = {name: at for at, name in enumerate(declared_order(table, source))}
    for field in sorted(spark_schema(table), key=lambda item: order.get(item.name, -1)):
        declared = table.by_name.get(field.name)
        type_ = PropertyType(Scalar.STRING) if declared is None else declared.type
        able = {"comparable": is_comparable(type_), "aggregable": is_aggregable(type_)}
        facts: dict[str, Any] = {fact: True for fact, holds in able.items() if holds}
        if type_.vector is not None:
            facts["bytes"] = _MEMBER_BYTES * type_.vector
        if field.name == "id" and (order or table.kind == "edge"):  # a table has a column
            fields.append(StructField("id", field.dataType, False, {**facts, "hidden": True}))
        else:
            fields.append(StructField(field.name, field.dataType, True, facts))
    return StructType(fields)


def _commit_facts(snapshot: Snapshot) -> dict[str, str]:
    return {"commit": snapshot.commit_id, "version": str(snapshot.version)}


def _type_facts(table: TableType) -> dict[str, str]:
    ends = {"from": table.source, "to": table.target} if isinstance(table, EdgeType) else {}
    return {"table": table.table_key, **({"key": ",".join(table.key)} if table.key else {}), **ends}


def _write_facts(where: Namespace, told: Question) -> dict[str, str]:
    """Say which branch is written to; history is only read."""
    is_head = where.branch is not None and "version" not in told and "at" not in told
    return {"branch": str(where.branch)} if is_head else {}


def _delete_rows(told: Question) -> StructField:
    graph = open_graph_of(told, False, told["branch"])
    table = find_type(graph.snapshot(), told["table"])
    where = read_conditions(table, told["where"])
    work = DeletedWhere(table.table_key, where, graph.catalog_at, graph.snapshot_of)
    with follow_load(LoadFacts(graph, "spark", (table.name,), list, verb="delete")) as followed:
        published = graph.commit_work(work)
        if followed is not None:
            followed.tell(published, work.answer(), {})
    return make_answer(rows=work.rows)


def _create_table(told: Question) -> StructField:
    where = _writable(told)
    graph = open_graph_of(told, False, where.branch)
    try:
        find_type(graph.snapshot(), told["table"])
    except NoSuchName:
        columns = StructType.fromJson(json.loads(told["columns"]))
        text = type_text(told["table"], columns, json.loads(told["properties"]))
        work = SchemaApplication(DesiredSchema(text, extends=True), graph.schemas)
        graph.commit_work(work, durable=True)
        return make_answer()
    return make_answer(exists=True)


def _drop_table(told: Question) -> StructField:
    where = _writable(told)
    graph = open_graph_of(told, False, where.branch)
    snapshot = graph.snapshot()
    table = find_type(snapshot, told["table"])
    desired = DesiredSchema(text_without(snapshot.schema_source, table), allow_drop=True)
    graph.commit_work(SchemaApplication(desired, graph.schemas), durable=True)
    return make_answer()


def _add_columns(told: Question) -> StructField:
    graph = open_graph_of(told, False, _writable(told).branch)
    table = find_type(graph.snapshot(), told["table"])
    columns = StructType.fromJson(json.loads(told["columns"]))
    known = [name for name in columns.fieldNames() if name in table.by_name]
    if known:
        raise AlreadyExists(f"{table.name} has a property {known[0]!r} already", property=known[0])
    widen_type(graph, table, columns, {})
    return make_answer()


def _writable(told: Question) -> Namespace:
    where = find_namespace(open_graph_of(told), told["namespace"])
    if where.branch is None or where.is_system:
        raise BadInput(f"{where.name!r} is read only: name a branch")
    return where


def _create_branch(told: Question) -> StructField:
    names, given = json.loads(told["namespace"]), json.loads(told["properties"])
    if len(names) != 1:
        raise BadInput(f"a branch has one name, found {'.'.join(names)}")
    graph = open_graph_of(told, False)
    try:
        graph.branches.create(names[0].removeprefix("branch:"), given.get("from"))
    except AlreadyExists:
        return make_answer(exists=True)
    return make_answer()


def _drop_branch(told: Question) -> StructField:
    where = _writable(told)
    open_graph_of(told, False).branches.delete(str(where.branch))
    return make_answer()


def _describe_procedure(told: Question) -> StructField:
    name = told["procedure"].lower()
    if name not in PROCEDURES:
        raise NoSuchName(f"there is no procedure {name!r}")
    return make_answer(PROCEDURES[name].parameters)


def _call(told: Question) -> StructField:
    graph = open_graph_of(told, False)
    row = PROCEDURES[told["procedure"].lower()].run(graph, **json.loads(told["arguments"]))
    return make_answer(row_schema(row))


_QUESTIONS: dict[str, Callable[[Question], StructField]] = {
    "namespaces": _list_namespaces,
    "namespace": _describe_namespace,
    "tables": _list_tables,
    "table": _describe_table,
    "delete": _delete_rows,
    "create_table": _create_table,
    "add_columns": _add_columns,
    "drop_table": _drop_table,
    "create_branch": _create_branch,
    "drop_branch": _drop_branch,
    "procedures": lambda told: make_answer(names=list(PROCEDURES)),
    "procedure": _describe_procedure,
    "call": _call,
}
