/** The proposals of a graph: what is to be merged, who wants it, and how it stands. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { callRoute, makeKey, OmniGraphError } from "../api/session";
import type { Proposal } from "../api/shapes";
import { cutText, tellAge, tellCount } from "../lib/formats";
import { writePlace } from "../lib/place";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, Failure, When } from "../parts/states";

const STATES = ["open", "merged", "closed"] as const;
const COUNTED = 100;

interface Listed {
  proposals: Proposal[];
  next_page_token: string | null;
}

export function StateChip({ state }: { state: Proposal["state"] }) {
  return <span className={`chip ${{ open: "good", merged: "accent", closed: "" }[state]}`}>{state}</span>;
}

export default function ProposalsPage() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const state = place.params.state ?? "open";
  const [pages, setPages] = useState(1);
  const list = (wanted: string, limit: number) => {
    const query = new URLSearchParams({ state: wanted, limit: String(limit) }).toString();
    return callRoute<Listed>(view.session, "GET", `/graphs/${encodeURIComponent(view.graph)}/proposals?${query}`);
  };
  const asked = useAsk(`proposals ${view.graph} ${state} ${pages} ${view.round}`, () => list(state, 50 * pages));
  const counts = useAsk(`proposal counts ${view.graph} ${view.round}`, () => Promise.all(STATES.map((name) => list(name, COUNTED))));
  const isMissing = asked.error instanceof OmniGraphError && asked.error.status === 404;
  return (
    <>
      <div className="head">
        <h1>Proposals</h1>
        <span className="space" />
        <div className="tabs" role="group" aria-label="State">
          {STATES.map((name, at) => (
            <button key={name} aria-pressed={state === name} onClick={() => go(writePlace({ graph: view.graph, page: "proposals", params: { state: name } }))}>
              {name.charAt(0).toUpperCase() + name.slice(1)} {counts.value && <span className="quiet small">{tellListed(counts.value[at])}</span>}
            </button>
          ))}
        </div>
      </div>
      <NewProposal />
      {isMissing ? (
        <Empty title="This server has no proposals">
          <Link page="compare">Compare two branches</Link> and merge them there.
        </Empty>
      ) : (
        <When asked={asked} what="proposals">
          {(found) =>
            found.proposals.length === 0 ? (
              <Empty title={`No ${state} proposals`}>A proposal asks others to look at a branch before it is merged.</Empty>
            ) : (
              <>
                <ul className="list panel">
                  {found.proposals.map((proposal) => (
                    <li key={proposal.id}>
                      <ProposalRow proposal={proposal} />
                    </li>
                  ))}
                </ul>
                {found.next_page_token !== null && <button onClick={() => setPages(pages + 1)}>More</button>}
              </>
            )
          }
        </When>
      )}
    </>
  );
}

function tellListed(listed: Listed | undefined): string {
  if (!listed) return "";
  return listed.next_page_token === null ? String(listed.proposals.length) : `${listed.proposals.length}+`;
}

function ProposalRow({ proposal }: { proposal: Proposal }) {
  const current = proposal.approvals.filter((approval) => approval.is_current).length;
  const failed = (proposal.checks ?? []).filter((check) => !check.ok).length;
  return (
    <div className="row proposal">
      <StateChip state={proposal.state} />
      <div className="grow">
        <Link className="title" page="proposal" params={{ id: proposal.id }}>
          <bdi>{cutText(proposal.title, 160)}</bdi>
        </Link>
        <p className="quiet small">
          <bdi>{proposal.source}</bdi> into <bdi>{proposal.into}</bdi> · <bdi>{proposal.author ?? "nobody"}</bdi> · {tellAge(proposal.updated_at ?? proposal.created_at, Date.now())}
        </p>
      </div>
      <span className="chips">
        {current > 0 && <span className="chip good">{tellCount(current, "approval")}</span>}
        {failed > 0 && <span className="chip bad">{tellCount(failed, "failed check")}</span>}
        {proposal.comments.length > 0 && <span className="chip">{tellCount(proposal.comments.length, "comment")}</span>}
      </span>
    </div>
  );
}

function NewProposal() {
  const view = useGraph();
  const { go } = useNavigation();
  const others = view.branches.filter((name) => name !== "main");
  const [source, setSource] = useState("");
  const [into, setInto] = useState("main");
  const [title, setTitle] = useState("");
  const [strategy, setStrategy] = useState("property");
  const doing = useDoing();
  if (view.isReadOnly || others.length === 0) return null;
  return (
    <details className="difference">
      <summary>New proposal</summary>
      <form
        className="stack inset"
        onSubmit={(event) => {
          event.preventDefault();
          doing.run(async () => {
            const made = await callRoute<Proposal>(view.session, "POST", `/graphs/${encodeURIComponent(view.graph)}/proposals`, { source, into, title, strategy }, { "Idempotency-Key": makeKey() });
            go(writePlace({ graph: view.graph, page: "proposal", params: { id: made.id } }));
          });
        }}
      >
        <div className="picker">
          {(
            [
              ["Branch", source, setSource],
              ["into", into, setInto],
            ] as const
          ).map(([label, value, set]) => (
            <label key={label} className="field">
              <span className="quiet small">{label}</span>
              <select value={value} onChange={(event) => set(event.target.value)}>
                {value === "" && <option value="">choose</option>}
                {view.branches.map((name) => (
                  <option key={name} value={name}>
                    {cutText(name, 60)}
                  </option>
                ))}
              </select>
            </label>
          ))}
          <label className="field grow">
            <span className="quiet small">Title</span>
            <input value={title} onChange={(event) => setTitle(event.target.value)} />
          </label>
          <label className="field">
            <span className="quiet small">In conflict is</span>
            <select value={strategy} onChange={(event) => setStrategy(event.target.value)}>
              <option value="property">a property that both changed</option>
              <option value="entity">an entity that both changed</option>
            </select>
          </label>
          <button className="primary" type="submit" disabled={source === "" || doing.isBusy}>
            Propose
          </button>
        </div>
        {doing.error !== undefined && <Failure error={doing.error} />}
      </form>
    </details>
  );
}
