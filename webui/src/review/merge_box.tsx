/** Merging a branch as it was compared, with the answers to its conflicts; or proposing that to others. */

import { useState } from "react";
import { useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { BranchInfo, Conflict, MergeResult, Proposal } from "../api/shapes";
import { conflictKey, isAnswered, writeResolutions, type Answers } from "../lib/answers";
import { sumMerged } from "../lib/differences";
import { tellCount } from "../lib/formats";
import { writePlace } from "../lib/place";
import type { SameRule } from "../lib/same_as";
import { useGraph } from "../parts/graph_context";
import { useNavigation } from "../parts/navigation";
import { Failure } from "../parts/states";
import { Counts } from "./difference";

const STRATEGIES = { property: "property", entity: "whole entity", ours: "ours wins", theirs: "theirs wins" } as const;

/** How somebody wants to merge, and what for. */
export interface Asking {
  strategy: keyof typeof STRATEGIES;
  message: string;
  deletes: boolean;
}

interface Given {
  /** Two branches at the commits that are looked at. */
  compared: { source: string; into: string; theirs: string; ours: string; rules: SameRule[] };
  result: MergeResult;
  answers: Answers;
  asking: Asking;
  ask: (asking: Asking) => void;
  /** Conflicts that have come up once others were settled. */
  find: (conflicts: Conflict[]) => void;
  finish: (result: MergeResult) => void;
}

export function MergeBox({ compared, result, answers, asking, ask, find, finish }: Given) {
  const view = useGraph();
  const { client } = view.session;
  const { go } = useNavigation();
  const { source, into, rules } = compared;
  const { strategy, message, deletes } = asking;
  const [tried, setTried] = useState<Answers | null>(null);
  const doing = useDoing();
  const open = result.conflicts.filter((conflict) => !isAnswered(conflict, answers[conflictKey(conflict)]));
  const isDone = result.outcome === "already_up_to_date";
  const isReady = open.length === 0 && !isDone;
  const merge = (isTried: boolean) =>
    doing.run(async () => {
      setTried(null);
      const branch = (await client.describeBranch({ graph: view.graph, name: source })) as unknown as BranchInfo;
      if (branch.head !== compared.theirs) throw new Error(`${source} says something else by now: look again.`);
      const resolutions = writeResolutions(result.conflicts, answers);
      const send = async (dry: boolean) => {
        const body = { source, target: into, strategy, same_as: rules, resolutions: resolutions.length > 0 ? resolutions : null, dry_run: dry, message: message || null, delete_branch: deletes };
        return (await client.mergeBranch({ graph: view.graph, idempotencyKey: dry ? null : makeKey(), omnigraphIfGraphCommit: dry ? null : compared.ours, body: body as never })) as unknown as MergeResult;
      };
      const { conflicts } = await send(true);
      if (conflicts.length > 0) {
        const known = new Set(result.conflicts.map(conflictKey));
        const fresh = conflicts.filter((conflict) => !known.has(conflictKey(conflict)));
        if (fresh.length === 0) throw new Error(conflicts.map((conflict) => conflict.message).join("\n"));
        find(fresh);
      } else if (isTried) setTried(answers);
      else {
        finish(await send(false));
        view.refresh();
      }
    });
  const propose = () =>
    doing.run(async () => {
      const made = (await client.createProposal({ graph: view.graph, idempotencyKey: makeKey(), body: { source, into, title: message, strategy, same_as: rules } })) as unknown as Proposal;
      go(writePlace({ graph: view.graph, page: "proposal", params: { id: made.id } }));
    });
  return (
    <section className={`mergebox ${isReady ? "good" : open.length > 0 ? "bad" : ""}`} aria-label="Merge">
      <div className="head">
        <strong role="status">{isDone ? "Up to date" : open.length > 0 ? `${tellCount(open.length, "conflict")} to settle` : result.conflicts.length > 0 ? "All conflicts are settled" : "This can be merged"}</strong>
        <Counts counts={sumMerged(result.counts)} />
        <span className="space" />
        <label className="quiet small">
          compare by{" "}
          <select value={strategy} onChange={(event) => ask({ ...asking, strategy: event.target.value as Asking["strategy"] })}>
            {Object.entries(STRATEGIES).map(([name, told]) => (
              <option key={name} value={name}>
                {told}
              </option>
            ))}
          </select>
        </label>
      </div>
      {!view.isReadOnly && !isDone && (
        <div className="actions">
          <input className="grow" aria-label="Message" placeholder="What this is for" value={message} onChange={(event) => ask({ ...asking, message: event.target.value })} />
          <label>
            <input type="checkbox" checked={deletes} onChange={(event) => ask({ ...asking, deletes: event.target.checked })} />
            delete the branch
          </label>
          <button title="Ask whether it would work, and change nothing" onClick={() => merge(true)} disabled={doing.isBusy}>
            Try
          </button>
          <button title="Let others look at it first" onClick={propose} disabled={doing.isBusy}>
            Propose
          </button>
          <button className="primary" disabled={!isReady || doing.isBusy} onClick={() => merge(false)}>
            Merge
          </button>
        </div>
      )}
      {tried !== null && tried === answers && <p role="status">It would work: a merge with these answers meets every rule of the graph.</p>}
      {doing.error !== undefined && <Failure error={doing.error} again={view.refresh} what="Look again" />}
    </section>
  );
}
