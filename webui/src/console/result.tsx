/** The result of a query: as a table, as a picture, or as JSON. */

import { useMemo } from "react";
import type { Catalog, QueryResult } from "../api/shapes";
import { tellNumber } from "../lib/formats";
import { Empty } from "../parts/states";
import { ResultTable } from "../parts/table";
import { ResultPicture } from "./result_picture";

export type View = "table" | "picture" | "json";

export function Result({ as, result, bindings, catalog }: { as: View; result: QueryResult; bindings: Record<string, string>; catalog: Catalog }) {
  const columns = useMemo(() => pickColumns(result, bindings), [result, bindings]);
  if (result.row_count === 0) return <Empty title="No rows">Nothing in the graph fits the pattern.</Empty>;
  if (as === "json") return <Json result={result} />;
  if (as === "picture") return <ResultPicture result={result} columns={columns} catalog={catalog} />;
  return <ResultTable columns={result.columns} rows={result.rows} bindings={columns} />;
}

/** Columns that hold the ids of bound nodes, and not a property that happens to have the variable's name. */
function pickColumns(result: QueryResult, bindings: Record<string, string>): Record<string, string> {
  const names = result.columns.filter((column) => bindings[column.name] && column.type.startsWith("String")).map((column) => column.name);
  return Object.fromEntries(names.map((name) => [name, bindings[name] ?? ""]));
}

const MOST_TEXT = 500;

function Json({ result }: { result: QueryResult }) {
  const text = useMemo(() => JSON.stringify(result.rows.slice(0, MOST_TEXT), null, 2), [result]);
  return (
    <>
      <pre className="panel source" tabIndex={0}>
        <bdi>{text.slice(0, 1_000_000)}</bdi>
      </pre>
      {result.row_count > MOST_TEXT && <p className="quiet">The first {MOST_TEXT} of {tellNumber(result.row_count)} rows.</p>}
    </>
  );
}
