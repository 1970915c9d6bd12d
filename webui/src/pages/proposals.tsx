/** The proposals of a graph: what is to be merged, who wants it, and how it stands. */

import { useState } from "react";
import { useAsk } from "../api/ask";
import type { Proposal } from "../api/shapes";
import { cutText, tellAge, tellCount } from "../lib/formats";
import { writePlace } from "../lib/place";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, When } from "../parts/states";
import { NewProposal } from "../review/new_proposal";
import { StateChip } from "../review/state_chip";

const STATES = ["open", "merged", "closed"] as const;
type State = (typeof STATES)[number];
const COUNTED = 100;
const PAGE = 50;
/** What the server lists at once. */
const MOST = 1_000;

interface Listed {
  proposals: Proposal[];
  next_page_token: string | null;
}

export default function ProposalsPage() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const state = STATES.find((name) => name === place.params.state) ?? "open";
  const [pages, setPages] = useState(1);
  const list = async (wanted: State, limit: number, signal: AbortSignal) => (await view.session.client.listProposals({ graph: view.graph, state: wanted, limit }, { signal })) as unknown as Listed;
  const asked = useAsk(`proposals ${view.graph} ${state} ${pages} ${view.round}`, (signal) => list(state, Math.min(MOST, PAGE * pages), signal));
  const counts = useAsk(`proposal counts ${view.graph} ${view.round}`, (signal) => Promise.all(STATES.map((name) => list(name, COUNTED, signal))));
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
              {found.next_page_token !== null && PAGE * pages < MOST && <button onClick={() => setPages(pages * 2)}>More</button>}
            </>
          )
        }
      </When>
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
