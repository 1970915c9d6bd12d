/** Rows as a table that holds only what is seen. */

import { useRef, useState } from "react";
import type { Value } from "../api/shapes";
import { tellValue } from "../lib/formats";
import { Link } from "./navigation";
import { useGraph } from "./graph_context";
import { useWindow } from "./windowed";

interface Given {
  columns: { name: string; type: string }[];
  rows: Record<string, Value>[];
  bindings?: Record<string, string>;
}

const HEIGHT = 34;

export function ResultTable({ columns, rows, bindings = {} }: Given) {
  const scroller = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<number | null>(null);
  const seen = useWindow(scroller, rows.length, HEIGHT);
  const first = seen.first * HEIGHT;
  const last = (rows.length - seen.end) * HEIGHT;
  const shown = open === null ? undefined : rows[open];
  return (
    <>
      <div className="table" ref={scroller} tabIndex={0} role="region" aria-label="Rows">
        <table aria-rowcount={rows.length}>
          <thead>
            <tr>
              <th className="number">
                <span className="hidden">Row</span>
              </th>
              {columns.map((column) => (
                <th key={column.name} scope="col">
                  <bdi>{column.name}</bdi> <span className="kind">{column.type}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr aria-hidden="true" ref={spacer(first)}><td colSpan={columns.length + 1} /></tr>}
            {rows.slice(seen.first, seen.end).map((row, at) => ({ row, index: seen.first + at })).map((item) => (
              <tr key={item.index} aria-rowindex={item.index + 1} className={open === item.index ? "chosen" : undefined}>
                <td className="number">
                  <button className="link" aria-label={`Open row ${item.index + 1}`} onClick={() => setOpen(open === item.index ? null : item.index)}>
                    {item.index + 1}
                  </button>
                </td>
                {columns.map((column) => (
                  <td key={column.name}>
                    <Cell value={item.row[column.name]} type={bindings[column.name]} />
                  </td>
                ))}
              </tr>
            ))}
            {last > 0 && <tr aria-hidden="true" ref={spacer(last)}><td colSpan={columns.length + 1} /></tr>}
          </tbody>
        </table>
      </div>
      {shown && (
        <pre className="panel source" tabIndex={0} aria-label={`Row ${(open ?? 0) + 1}`}>
          <bdi>{JSON.stringify(shown, null, 2).slice(0, 200_000)}</bdi>
        </pre>
      )}
    </>
  );
}

function spacer(height: number) {
  return (row: HTMLTableRowElement | null) => {
    if (row) row.style.height = `${height}px`;
  };
}

function Cell({ value, type }: { value: Value | undefined; type: string | undefined }) {
  const { place } = { place: useGraph() };
  const where = { branch: place.branch === "main" ? null : place.branch, at: place.at };
  if (value === null || value === undefined) return <span className="null">null</span>;
  if (typeof value === "object" && !Array.isArray(value) && typeof value.type === "string" && typeof value.id === "string") {
    return (
      <Link className="entity" page="entity" params={{ type: value.type, id: value.id, ...where }}>
        <span className="quiet">{value.type}</span> <bdi>{tellValue(value.id, 60)}</bdi>
      </Link>
    );
  }
  if (type && typeof value === "string") {
    return (
      <Link className="entity" page="entity" params={{ type, id: value, ...where }}>
        <bdi>{tellValue(value, 80)}</bdi>
      </Link>
    );
  }
  const isNumber = typeof value === "number";
  return <bdi className={isNumber ? "literal" : "text"}>{tellValue(value, 120)}</bdi>;
}
