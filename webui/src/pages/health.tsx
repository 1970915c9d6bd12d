/** How the storage of a graph is: what its tables hold, whether all of it is whole, and what a cleanup would free. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Cleanup, Job, Repair } from "../api/shapes";
import { tellBytes, tellCount, tellNumber } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Link } from "../parts/navigation";
import { Failure, Loading, When } from "../parts/states";

interface TableHealth {
  type_key: string;
  rows: number;
  fragments: number;
  rows_deleted: number;
  indexes: { property: string; kind: string; is_built: boolean; rows_uncovered: number }[];
}

export default function HealthPage() {
  const view = useGraph();
  const { client } = view.session;
  const tables = useAsk(`tables ${view.graph} ${view.branch} ${view.round}`, async (signal) => (await client.showTables({ graph: view.graph, branch: view.branch }, { signal })).tables as unknown as TableHealth[]);
  const optimized = useAsk(`optimized ${view.graph} ${view.round}`, async (signal) => {
    const told = (await client.listJobs({ graph: view.graph, kind: "optimize", state: "succeeded", limit: 1 }, { signal })) as unknown as { jobs: Job[] };
    return told.jobs[0] ?? null;
  });
  return (
    <>
      <div className="head">
        <h1>Health</h1>
      </div>
      <Whole />
      <Waste />
      <When asked={tables} what="the tables">
        {(found) => <Tables tables={found} />}
      </When>
      {optimized.value && <Optimized job={optimized.value} />}
    </>
  );
}

function Tables({ tables }: { tables: TableHealth[] }) {
  const waiting = tables.flatMap((table) => (table.rows === 0 ? [] : table.indexes.filter((index) => index.rows_uncovered > 0))).length;
  return (
    <section className="panel stack tight" aria-label="Tables">
      <h2>Storage and indexes</h2>
      <p className="quiet">
        {waiting === 0 ? "Every index knows every row." : `${tellCount(waiting, "index does", "indexes do")} not know every row: those are found by reading them, until an Optimize (see `}
        {waiting > 0 && <Link page="jobs">jobs</Link>}
        {waiting > 0 && ")."}
      </p>
      <div className="wide-table" tabIndex={0} role="region" aria-label="Tables with their indexes">
        <table className="summary-table">
          <thead>
            <tr>
              <th scope="col">Table</th>
              <th scope="col">Rows</th>
              <th scope="col">Fragments</th>
              <th scope="col">Deleted, still stored</th>
              <th scope="col">Indexes</th>
            </tr>
          </thead>
          <tbody>
            {tables.map((table) => (
              <tr key={table.type_key}>
                <th scope="row">{table.type_key}</th>
                <td>{tellNumber(table.rows)}</td>
                <td>{tellNumber(table.fragments)}</td>
                <td>{tellNumber(table.rows_deleted)}</td>
                <td>
                  <span className="chips">
                    {table.indexes.map((index) => (
                      <span key={`${index.property} ${index.kind}`} className={`chip ${table.rows === 0 ? "" : index.rows_uncovered === 0 ? "good" : "wait"}`}>
                        {index.property} · {index.kind}
                        {table.rows > 0 && (!index.is_built ? ", not built" : index.rows_uncovered > 0 ? `, without ${tellCount(index.rows_uncovered, "row")}` : "")}
                      </span>
                    ))}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface Pending {
  type_key: string;
  property: string;
  reason: string;
}

/** What the last optimize of this server said about indexes. */
function Optimized({ job }: { job: Job }) {
  const result = job.result as { pending_indexes?: Pending[]; tables?: { type_key: string; built: unknown[]; folded: unknown[]; pending_indexes: Pending[] }[] } | null;
  const tables = result?.tables ?? [];
  const pending = result?.pending_indexes ?? tables.flatMap((table) => table.pending_indexes);
  const built = tables.reduce((total, table) => total + table.built.length + table.folded.length, 0);
  return (
    <section className="panel stack tight" aria-label="Indexes">
      <h2>Indexes</h2>
      <p className="quiet">
        The last optimize built or folded {tellCount(built, "index", "indexes")}; {pending.length === 0 ? "none waits." : `${tellCount(pending.length, "index waits", "indexes wait")}:`}
      </p>
      {pending.map((item) => (
        <p key={`${item.type_key} ${item.property}`}>
          <code>
            {item.type_key}.{item.property}
          </code>{" "}
          <span className="quiet">{item.reason}</span>
        </p>
      ))}
    </section>
  );
}

function Whole() {
  const view = useGraph();
  const [found, setFound] = useState<Repair | null>(null);
  const doing = useDoing();
  return (
    <section className="panel stack tight" aria-label="Verification">
      <div className="head">
        <h2>Is everything whole?</h2>
        <span className="space" />
        <button
          disabled={doing.isBusy}
          onClick={() =>
            doing.run(async () => {
              setFound((await view.session.client.repairGraph({ graph: view.graph, body: {} })) as unknown as Repair);
            })
          }
        >
          Verify
        </button>
      </div>
      {doing.isBusy && <Loading what="every record" />}
      {doing.error !== undefined && <Failure error={doing.error} />}
      {found && !doing.isBusy && (
        <>
          <p role="status">
            <span className={`chip ${found.ok ? "good" : "bad"}`}>{found.ok ? "whole" : tellCount(found.findings.length, "finding")}</span>{" "}
            <span className="quiet">
              {tellCount(found.branches, "branch", "branches")}, {tellCount(found.commits, "commit")}, {tellCount(found.tables, "table")}, {tellCount(found.files, "file")}, {tellCount(found.rows, "row")}
            </span>
          </p>
          {found.findings.length > 0 && (
            <pre className="source" tabIndex={0}>
              {JSON.stringify(found.findings, null, 2).slice(0, 50_000)}
            </pre>
          )}
        </>
      )}
    </section>
  );
}

function Waste() {
  const view = useGraph();
  const [keep, setKeep] = useState("10");
  const [found, setFound] = useState<Cleanup | null>(null);
  const [isBegun, setBegun] = useState(false);
  const doing = useDoing();
  const sum = (which: "removed" | "kept" | "waiting") => (found?.tables ?? []).reduce((total, table) => ({ files: total.files + table[which].files, bytes: total.bytes + table[which].bytes }), { files: 0, bytes: 0 });
  return (
    <section className="panel stack tight" aria-label="Cleanup">
      <form
        className="head"
        onSubmit={(event) => {
          event.preventDefault();
          setBegun(false);
          doing.run(async () => {
            setFound(null);
            setFound((await view.session.client.cleanGraph({ graph: view.graph, body: { keep: Number(keep), dry_run: true } })) as unknown as Cleanup);
          });
        }}
      >
        <h2>What would a cleanup free?</h2>
        <span className="space" />
        <label className="quiet small">
          keep <input className="tiny" inputMode="numeric" value={keep} onChange={(event) => setKeep(event.target.value.replace(/\D/g, ""))} aria-label="Commits to keep on each branch" /> commits of each branch
        </label>
        <button type="submit" disabled={doing.isBusy || keep === "" || keep === "0"}>
          Preview
        </button>
      </form>
      {doing.isBusy && <Loading what="a preview" />}
      {doing.error !== undefined && <Failure error={doing.error} />}
      {found && !doing.isBusy && (
        <>
          <p role="status">
            {tellBytes(sum("removed").bytes)} in {tellCount(sum("removed").files, "file")} would go, {tellBytes(sum("kept").bytes)} stay; {tellCount(found.commits_dropped, "commit")} would be dropped, {tellNumber(found.commits_kept)} kept.
          </p>
          {!view.isReadOnly && (
            <p className="actions">
              <button
                className="danger"
                disabled={isBegun}
                onClick={() =>
                  doing.run(async () => {
                    await view.session.client.beginJob({ graph: view.graph, kind: "cleanup", idempotencyKey: makeKey(), body: { keep: Number(keep) } });
                    setBegun(true);
                  })
                }
              >
                Do it, as a job
              </button>
              {isBegun && (
                <span role="status">
                  It has begun: see <Link page="jobs">jobs</Link>.
                </span>
              )}
            </p>
          )}
        </>
      )}
    </section>
  );
}
