/** Who is allowed what: the caller, by action and branch; and which branches are protected. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { callRoute, OmniGraphError } from "../api/session";
import type { BranchInfo } from "../api/shapes";
import { cutText, tellCount } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Empty, Failure, Loading, When } from "../parts/states";

const MOST_BRANCHES = 50;

interface Access {
  state: string;
  actor: string | null;
  branches: Record<string, Record<string, boolean>>;
}

export default function AccessPage() {
  const view = useGraph();
  const path = `/graphs/${encodeURIComponent(view.graph)}`;
  const asked = useAsk(`access ${view.graph} ${view.round}`, () => callRoute<Access>(view.session, "GET", `${path}/access`));
  const isMissing = asked.error instanceof OmniGraphError && asked.error.status === 404;
  return (
    <>
      <div className="head">
        <h1>Access</h1>
      </div>
      <p className="panel">
        You are <strong>{view.actor ? <bdi>{view.actor}</bdi> : "nobody: this server asks for no token"}</strong>
        {view.isReadOnly && ", and may only read"}.
      </p>
      {asked.isLoading && <Loading what="the policy" />}
      {isMissing && <Empty title="This server has no policy">Whoever has a token may read and write everything.</Empty>}
      {asked.error !== undefined && !isMissing && <Failure error={asked.error} again={asked.again} />}
      {asked.value && <Allowed access={asked.value} />}
      <Protection />
    </>
  );
}

function Allowed({ access }: { access: Access }) {
  const branches = Object.keys(access.branches);
  const actions = Object.keys(access.branches[branches[0] ?? ""] ?? {});
  return (
    <section className="panel wide-table" aria-label="What you may do" tabIndex={0}>
      <table className="summary-table">
        <thead>
          <tr>
            <th scope="col">You may</th>
            {branches.map((name) => (
              <th key={name} scope="col">
                <bdi>{cutText(name, 40)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {actions.map((action) => (
            <tr key={action}>
              <th scope="row">{action.replaceAll("_", " ")}</th>
              {branches.map((name) => (
                <td key={name}>{access.branches[name]?.[action] ? <span className="chip good">yes</span> : <span className="quiet">no</span>}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Protected extends BranchInfo {
  protection?: { approvals: number; checks: string[] } | null;
}

/** A protected branch changes by merged proposals and in no other way. */
function Protection() {
  const view = useGraph();
  const branches = useAsk(`protection ${view.graph} ${view.branches.join("\n")} ${view.round}`, (signal) =>
    Promise.all(view.branches.slice(0, MOST_BRANCHES).map(async (name) => (await view.session.client.describeBranch({ graph: view.graph, name }, { signal })) as unknown as Protected)),
  );
  return (
    <section className="stack tight" aria-label="Protected branches">
      <h2>Protected branches</h2>
      <When asked={branches} what="the branches">
        {(found) => (
          <ul className="list panel">
            {found.map((info) => (
              <li key={info.name}>
                <ProtectedRow info={info} again={branches.again} />
              </li>
            ))}
          </ul>
        )}
      </When>
    </section>
  );
}

function ProtectedRow({ info, again }: { info: Protected; again: () => void }) {
  const view = useGraph();
  const [approvals, setApprovals] = useState("1");
  const doing = useDoing();
  const path = `/graphs/${encodeURIComponent(view.graph)}/branches/${info.name.split("/").map(encodeURIComponent).join("/")}/protection`;
  const set = (method: string, body?: unknown) =>
    doing.run(async () => {
      await callRoute(view.session, method, path, body);
      again();
    });
  return (
    <div className="stack tight">
      <div className="row proposal">
        <span>
          <bdi>{cutText(info.name, 60)}</bdi>{" "}
          {info.protection && (
            <span className="chip accent">
              protected: {tellCount(info.protection.approvals, "approval")}
              {info.protection.checks.length > 0 && `, ${info.protection.checks.join(", ")}`}
            </span>
          )}
        </span>
        {!view.isReadOnly && (
          <span className="actions">
            {info.protection ? (
              <button disabled={doing.isBusy} onClick={() => set("DELETE")}>
                Unprotect
              </button>
            ) : (
              <>
                <input className="tiny" inputMode="numeric" aria-label={`Approvals that ${info.name} needs`} value={approvals} onChange={(event) => setApprovals(event.target.value.replace(/\D/g, ""))} />
                <button disabled={doing.isBusy || approvals === ""} onClick={() => set("PUT", { approvals: Number(approvals) })}>
                  Protect
                </button>
              </>
            )}
          </span>
        )}
      </div>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </div>
  );
}
