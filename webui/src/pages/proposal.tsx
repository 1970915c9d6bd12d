/** One proposal: what it changes, what is said about it, and whether it can be merged now. */

import { useEffect, useState } from "react";
import { useAsk } from "../api/ask";
import type { Mergeable, Proposal } from "../api/shapes";
import type { EntityDifference } from "../lib/differences";
import { cutText, shortId, tellAge, tellCount } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { useNavigation } from "../parts/navigation";
import { Empty, When } from "../parts/states";
import { ResultTable } from "../parts/table";
import { ChangesBetween } from "../review/changes";
import { Conversation, Discussion } from "../review/conversation";
import { SavedAnswers, Settling } from "../review/settling";
import { StateChip } from "../review/state_chip";
import { Ended, VerdictBox } from "../review/verdict_box";

const LOOK_MILLISECONDS = 5_000;

export default function ProposalPage() {
  const view = useGraph();
  const { place } = useNavigation();
  const id = place.params.id ?? "";
  const asked = useAsk(id ? `proposal ${view.graph} ${id}` : null, async (signal) => (await view.session.client.showProposal({ graph: view.graph, id }, { signal })) as unknown as Proposal);
  const [last, setLast] = useState<Proposal | null>(null);
  useEffect(() => {
    if (asked.value) setLast((old) => keepSame(old, asked.value ?? null));
  }, [asked.value]);
  const known = last?.id.startsWith(id) ? last : asked.value;
  if (!id) return <Empty title="No proposal is named">Choose one in the list of proposals.</Empty>;
  if (!known) {
    return (
      <When asked={asked} what="the proposal">
        {() => null}
      </When>
    );
  }
  return <Shown key={known.id} proposal={known} refresh={asked.again} />;
}

/** What is the same as before stays the very object, so that nothing is drawn again for it. */
function keepSame<T>(old: T | null, fresh: T | null): T | null {
  return JSON.stringify(old) === JSON.stringify(fresh) ? old : fresh;
}

function Shown({ proposal, refresh }: { proposal: Proposal; refresh: () => void }) {
  const isOpen = proposal.state === "open";
  const { mergeable, lost, again } = useJudged(proposal, refresh);
  const now = { from: proposal.base_commit ?? proposal.target_commit, to: proposal.source_commit };
  const [seen, setSeen] = useState(now);
  const hasMoved = isOpen && now.to !== null && now.to !== seen.to;
  const { from, to } = isOpen ? seen : now;
  const talk = { proposal, seen: to, refresh };
  const under = (entity: EntityDifference) => <Discussion entity={entity} {...talk} />;
  return (
    <>
      <div className="head">
        <h1>
          <bdi>{cutText(proposal.title, 200)}</bdi>
        </h1>
        <StateChip state={proposal.state} />
      </div>
      <p className="quiet">
        <bdi>{proposal.author ?? "nobody"}</bdi> wants to bring <bdi>{proposal.source}</bdi> into <bdi>{proposal.into}</bdi>, {tellAge(proposal.created_at, Date.now())}
        {proposal.reviewers.length > 0 && ` · asks ${proposal.reviewers.join(", ")}`}
      </p>
      {proposal.description && (
        <p className="text">
          <bdi>{cutText(proposal.description, 4000)}</bdi>
        </p>
      )}
      {hasMoved && (
        <div className="notice forbidden" role="status">
          <p>
            <bdi>{proposal.source}</bdi> says something else by now: it was <code>{shortId(seen.to ?? "")}</code> when you began to look, and is <code>{shortId(now.to ?? "")}</code>. What you looked at is below; only what you have looked at can be approved or merged.
          </p>
          <button onClick={() => setSeen(now)}>Show what it says now</button>
        </div>
      )}
      {isOpen ? (
        <VerdictBox
          proposal={proposal}
          mergeable={mergeable}
          seen={to}
          lost={lost}
          refresh={() => {
            refresh();
            again();
          }}
        />
      ) : (
        <Ended proposal={proposal} refresh={refresh} />
      )}
      {isOpen && mergeable && mergeable.conflicts.length > 0 && <Settling proposal={proposal} mergeable={mergeable} refresh={refresh} />}
      {isOpen && proposal.resolutions.length > 0 && <SavedAnswers proposal={proposal} refresh={refresh} />}
      {mergeable && mergeable.checks.length > 0 && <Checks checks={mergeable.checks} />}
      {from && to ? <ChangesBetween from={from} to={to} under={under} /> : <Empty title="Its branch is gone" />}
      <Conversation {...talk} />
    </>
  );
}

/** Whether the proposal can be merged, asked again a while after each answer, with what others have said meanwhile. */
function useJudged(proposal: Proposal, refresh: () => void): { mergeable: Mergeable | null; lost: unknown; again: () => void } {
  const view = useGraph();
  const isOpen = proposal.state === "open";
  const key = `mergeable ${view.graph} ${proposal.id} ${proposal.updated_at} ${proposal.events?.length ?? 0} ${view.round}`;
  const judged = useAsk(isOpen ? key : null, async (signal) => (await view.session.client.judgeProposal({ graph: view.graph, id: proposal.id }, { signal })) as unknown as Mergeable);
  const [mergeable, setMergeable] = useState<Mergeable | null>(null);
  useEffect(() => {
    if (judged.value) setMergeable((old) => keepSame(old, judged.value ?? null));
  }, [judged.value]);
  useEffect(() => {
    if (judged.value === undefined && judged.error === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.hidden) return;
      clearInterval(timer);
      refresh();
      judged.again();
    }, LOOK_MILLISECONDS);
    return () => clearInterval(timer);
  }, [judged.value, judged.error, judged.again, refresh]);
  return { mergeable, lost: judged.error, again: judged.again };
}

function Checks({ checks }: { checks: Mergeable["checks"] }) {
  return (
    <section className="stack tight" aria-label="Checks">
      <h2>Checks</h2>
      {checks.map((check) => {
        const rows = check.rows ?? [];
        const columns = (check.columns ?? Object.keys(rows[0] ?? {})).map((column) => (typeof column === "string" ? { name: column, type: "" } : { name: column.name, type: "" }));
        return (
          <details key={check.name} className="difference" open={!check.ok}>
            <summary>
              <span className={`chip ${check.ok ? "good" : "bad"}`}>{check.ok ? "passes" : "fails"}</span>
              <span className="id">{check.name}</span>
              <span className="space" />
              {!check.ok && <span className="quiet">{check.error ?? tellCount(check.row_count ?? rows.length, "row")}</span>}
            </summary>
            {rows.length > 0 && (
              <div className="inset">
                <ResultTable columns={columns} rows={rows} />
              </div>
            )}
          </details>
        );
      })}
    </section>
  );
}
