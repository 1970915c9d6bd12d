/** Whether a proposal can be merged now, why not, and what a reviewer does about it; and how it has ended. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Commit, Mergeable, Proposal } from "../api/shapes";
import { sumMerged } from "../lib/differences";
import { cutText, shortId } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Link } from "../parts/navigation";
import { Failure } from "../parts/states";
import { Counts } from "./difference";
import { Revert } from "./revert";

interface Given {
  proposal: Proposal;
  refresh: () => void;
}

interface BoxGiven extends Given {
  mergeable: Mergeable | null;
  /** The commit of the source that is looked at: nothing else is approved or merged. */
  seen: string | null;
  /** Why the server could not be asked just now. */
  lost: unknown;
}

export function VerdictBox({ proposal, mergeable, seen, lost, refresh }: BoxGiven) {
  const view = useGraph();
  const { client } = view.session;
  const doing = useDoing();
  const [text, setText] = useState("");
  const [deletes, setDeletes] = useState(false);
  const named = { graph: view.graph, id: proposal.id };
  const act = (what: () => Promise<unknown>) =>
    doing.run(async () => {
      await what().finally(refresh);
      setText("");
    });
  const merge = async () => {
    await client.mergeProposal({ ...named, idempotencyKey: makeKey(), body: { commit: seen, message: text || null, delete_branch: deletes } });
    view.refresh();
  };
  const isReady = mergeable?.mergeable === true && lost === undefined;
  return (
    <section className={`mergebox ${mergeable === null || lost !== undefined ? "" : mergeable.mergeable ? "good" : "bad"}`} aria-label="Merge">
      <div className="head">
        <strong role="status">{lost !== undefined ? "It is not known whether this can be merged" : mergeable === null ? "Looking whether this can be merged …" : mergeable.mergeable ? "This can be merged" : "This cannot be merged yet"}</strong>
        <Counts counts={sumMerged(mergeable?.counts ?? {})} />
      </div>
      {lost !== undefined && <Failure error={lost} again={refresh} />}
      {lost === undefined && mergeable && mergeable.reasons.length > 0 && (
        <ul className="reasons">
          {mergeable.reasons.map((reason, at) => (
            <li key={at}>
              <span className="op delete" aria-hidden="true">
                !
              </span>
              <bdi>{cutText(reason.message, 400)}</bdi>
            </li>
          ))}
        </ul>
      )}
      {!view.isReadOnly && (
        <div className="actions">
          <input className="grow" aria-label="What you say to it" placeholder="What you say to it" value={text} onChange={(event) => setText(event.target.value)} />
          <button disabled={doing.isBusy} onClick={() => act(() => client.approveProposal({ ...named, idempotencyKey: makeKey(), body: { commit: seen, text } }))}>
            Approve
          </button>
          <button disabled={doing.isBusy || text.trim() === ""} title={text.trim() === "" ? "Say first what should change" : undefined} onClick={() => act(() => client.requestChanges({ ...named, idempotencyKey: makeKey(), body: { commit: seen, text } }))}>
            Ask for changes
          </button>
          <button disabled={doing.isBusy} className="danger" onClick={() => act(() => client.closeProposal({ ...named, idempotencyKey: makeKey(), body: { text } }))}>
            Close
          </button>
          <label>
            <input type="checkbox" checked={deletes} onChange={(event) => setDeletes(event.target.checked)} />
            delete the branch
          </label>
          <button className="primary" disabled={doing.isBusy || !isReady} onClick={() => act(merge)}>
            Merge
          </button>
        </div>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </section>
  );
}

export function Ended({ proposal, refresh }: Given) {
  const view = useGraph();
  const doing = useDoing();
  const merged = proposal.merged_commit;
  const commit = useAsk(merged ? `merged ${view.graph} ${merged}` : null, async (signal) => (await view.session.client.showCommit({ graph: view.graph, commit: merged ?? "" }, { signal })) as unknown as Commit);
  const reopen = () =>
    doing.run(async () => {
      await view.session.client.reopenProposal({ graph: view.graph, id: proposal.id, idempotencyKey: makeKey(), body: {} });
      refresh();
    });
  if (proposal.state === "merged") {
    return (
      <div className="mergebox good">
        {merged ? (
          <p>
            <strong>Merged</strong> as{" "}
            <Link page="commit" params={{ id: merged }}>
              <code>{shortId(merged)}</code>
            </Link>
          </p>
        ) : (
          <p>
            <strong>Merged</strong>: there was nothing left to bring over.
          </p>
        )}
        {commit.value && <Revert commit={commit.value} />}
      </div>
    );
  }
  return (
    <div className="mergebox">
      <div className="actions">
        <strong>Closed</strong>
        {!view.isReadOnly && (
          <button disabled={doing.isBusy} onClick={reopen}>
            Reopen
          </button>
        )}
      </div>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </div>
  );
}
