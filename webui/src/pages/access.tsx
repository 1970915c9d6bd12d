/** Who is allowed what: the caller, by action and branch; and which branches are protected. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { BranchInfo } from "../api/shapes";
import { cutText, tellCount } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Failure, When } from "../parts/states";

const MOST_BRANCHES = 50;
const ACTIONS = ["read", "export", "invoke_query", "change", "schema_apply", "branch_create", "branch_delete", "branch_merge", "propose", "approve", "admin"];

interface Access {
  state: "open" | "default_deny" | "policy_enabled";
  /** Oneself first; others where one may know of them. */
  actors: { actor: string | null; branches: Record<string, string[]> }[];
}

const STATES: Record<Access["state"], string> = {
  open: "This server asks for no token: everybody may do everything.",
  default_deny: "This server has no policy: who has a token may read, and nobody may write.",
  policy_enabled: "A policy says who may do what.",
};

export default function AccessPage() {
  const view = useGraph();
  const asked = useAsk(`access ${view.graph} ${view.round}`, async (signal) => (await view.session.client.showAccess({ graph: view.graph }, { signal })) as unknown as Access);
  return (
    <>
      <div className="head">
        <h1>Access</h1>
      </div>
      <p className="panel">
        You are <strong>{view.actor ? <bdi>{view.actor}</bdi> : "nobody"}</strong>
        {view.isReadOnly && ", and may only read"}. {asked.value && STATES[asked.value.state]}
      </p>
      <When asked={asked} what="the policy">
        {(access) => <Rights access={access} />}
      </When>
      <Protection />
    </>
  );
}

function Rights({ access }: { access: Access }) {
  const [mine, ...others] = access.actors;
  if (!mine) return null;
  return (
    <>
      <section className="stack tight" aria-label="What you may do">
        <h2>What you may do</h2>
        <RightsTable of={mine.branches} />
      </section>
      {others.length > 0 && (
        <section className="stack tight" aria-label="What others may do">
          <h2>What others may do</h2>
          {others.map((other) => (
            <details key={other.actor} className="difference">
              <summary>
                <span className="id">
                  <bdi>{cutText(other.actor ?? "nobody", 60)}</bdi>
                </span>
                <span className="quiet small">{tellActions(other.branches)}</span>
              </summary>
              <RightsTable of={other.branches} />
            </details>
          ))}
        </section>
      )}
    </>
  );
}

/** What somebody may do on at least some branches. */
function tellActions(branches: Record<string, string[]>): string {
  const actions = [...new Set(Object.values(branches).flat())].sort();
  return actions.length === 0 ? "nothing" : actions.map((name) => name.replaceAll("_", " ")).join(", ");
}

function RightsTable({ of }: { of: Record<string, string[]> }) {
  const branches = Object.keys(of).slice(0, MOST_BRANCHES);
  return (
    <div className="panel wide-table" tabIndex={0} role="region" aria-label="Actions by branch">
      <table className="summary-table">
        <thead>
          <tr>
            <th scope="col">Action</th>
            {branches.map((name) => (
              <th key={name} scope="col">
                <bdi>{cutText(name, 40)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ACTIONS.map((action) => (
            <tr key={action}>
              <th scope="row">{action.replaceAll("_", " ")}</th>
              {branches.map((name) => (
                <td key={name}>{of[name]?.includes(action) ? <span className="chip good">yes</span> : <span className="quiet">no</span>}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
      {view.branches.length > MOST_BRANCHES && (
        <p className="quiet">
          The first {MOST_BRANCHES} of {view.branches.length} branches.
        </p>
      )}
    </section>
  );
}

function ProtectedRow({ info, again }: { info: Protected; again: () => void }) {
  const view = useGraph();
  const [approvals, setApprovals] = useState("1");
  const doing = useDoing();
  const { client } = view.session;
  const named = { graph: view.graph, name: info.name };
  const set = (change: () => Promise<unknown>) =>
    doing.run(async () => {
      await change();
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
              <button disabled={doing.isBusy} onClick={() => set(() => client.unprotectBranch({ ...named, idempotencyKey: makeKey() }))}>
                Unprotect
              </button>
            ) : (
              <>
                <input className="tiny" inputMode="numeric" aria-label={`Approvals that ${info.name} needs`} value={approvals} onChange={(event) => setApprovals(event.target.value.replace(/\D/g, ""))} />
                <button disabled={doing.isBusy || approvals === ""} onClick={() => set(() => client.protectBranch({ ...named, idempotencyKey: makeKey(), body: { approvals: Number(approvals) } }))}>
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
