/** Two branches side by side: what one would bring into the other, whether it can, and doing it. */

import { useEffect, useMemo, useState } from "react";
import { callRoute, makeKey } from "../api/session";
import { useAsk, useDoing } from "../api/ask";
import type { BranchInfo, MergeResult, Proposal } from "../api/shapes";
import { conflictKey, isAnswered, writeResolutions, type Answers } from "../lib/answers";
import { cutText, shortId, tellCount } from "../lib/formats";
import { writePlace } from "../lib/place";
import { ChangesBetween } from "../parts/changes";
import { Conflicts } from "../parts/conflicts";
import { Counts } from "../parts/difference";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, Failure, When } from "../parts/states";

const STRATEGIES = ["property", "entity", "ours", "theirs"] as const;
type Strategy = (typeof STRATEGIES)[number];

export default function ComparePage() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const into = place.params.into ?? "main";
  const source = place.params.source ?? (view.branch !== into ? view.branch : view.branches.find((name) => name !== into));
  const show = (params: Record<string, string>) => go(writePlace({ graph: view.graph, page: "compare", params: { into, source: source ?? null, ...params } }));
  return (
    <>
      <div className="head">
        <h1>Compare</h1>
      </div>
      <div className="picker">
        <label className="field">
          <span className="quiet small">Bring</span>
          <BranchSelect value={source ?? ""} change={(name) => show({ source: name })} />
        </label>
        <label className="field">
          <span className="quiet small">into</span>
          <BranchSelect value={into} change={(name) => show({ into: name })} />
        </label>
      </div>
      {source === undefined ? (
        <Empty title="There is only one branch">
          Make another one on the page of <Link page="commits">commits</Link>, and change something there.
        </Empty>
      ) : source === into ? (
        <Empty title="Choose two branches" />
      ) : (
        <Comparison key={`${source}\n${into}`} source={source} into={into} />
      )}
    </>
  );
}

function BranchSelect({ value, change }: { value: string; change: (name: string) => void }) {
  const view = useGraph();
  return (
    <select value={value} onChange={(event) => change(event.target.value)}>
      {!view.branches.includes(value) && <option value={value}>{value}</option>}
      {view.branches.map((name) => (
        <option key={name} value={name}>
          {cutText(name, 60)}
        </option>
      ))}
    </select>
  );
}

function Comparison({ source, into }: { source: string; into: string }) {
  const view = useGraph();
  const { client } = view.session;
  const kept = `omnigraph.answers.${view.graph}.${source}.${into}`;
  const [strategy, setStrategy] = useState<Strategy>("property");
  const [answers, setAnswers] = useState<Answers>(() => readKept(kept));
  const [done, setDone] = useState<MergeResult | null>(null);
  const heads = useAsk(`heads ${view.graph} ${source} ${into} ${view.round}`, async (signal) => {
    const [theirs, ours] = await Promise.all([source, into].map(async (name) => (await client.describeBranch({ graph: view.graph, name, comparedWith: into }, { signal })) as unknown as BranchInfo));
    return { theirs: theirs as BranchInfo, ours: ours as BranchInfo };
  });
  const tried = useAsk(heads.value ? `merge ${view.graph} ${heads.value.theirs.head} ${heads.value.ours.head} ${strategy}` : null, async (signal) => {
    return (await client.mergeBranch({ graph: view.graph, body: { source, target: into, strategy, dry_run: true } }, { signal })) as unknown as MergeResult;
  });
  useEffect(() => {
    sessionStorage.setItem(kept, JSON.stringify(answers));
  }, [answers, kept]);
  if (done) return <Merged into={into} result={done} />;
  return (
    <When asked={heads} what="both branches">
      {({ theirs, ours }) => (
        <>
          <p className="quiet">
            <bdi>{source}</bdi> is {tellCount(theirs.ahead, "commit")} ahead and {tellCount(theirs.behind, "commit")} behind.
          </p>
          <When asked={tried} what="what a merge would do">
            {(result) => (
              <>
                <MergeBox source={source} into={into} result={result} answers={answers} strategy={strategy} setStrategy={setStrategy} head={ours.head} finish={(made) => {
                    setAnswers({});
                    setDone(made);
                  }} />
                {result.conflicts.length > 0 && (
                  <Conflicts conflicts={result.conflicts} answers={answers} change={setAnswers} names={{ ours: into, theirs: source, base: "before" }} commits={{ ours: ours.head, theirs: theirs.head }} />
                )}
                {result.outcome === "already_up_to_date" ? <Empty title="Nothing to bring over">{into} has all that {source} says.</Empty> : <ChangesBetween from={result.base} to={theirs.head} />}
              </>
            )}
          </When>
        </>
      )}
    </When>
  );
}

function readKept(name: string): Answers {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "{}") as Answers;
  } catch {
    return {};
  }
}

function Merged({ into, result }: { into: string; result: MergeResult }) {
  return (
    <div className="mergebox good" role="status">
      <p>
        <strong>Merged</strong> into <bdi>{into}</bdi>
        {result.commit_id && (
          <>
            {" as "}
            <Link page="commit" params={{ id: result.commit_id, branch: into === "main" ? null : into }}>
              <code>{shortId(result.commit_id)}</code>
            </Link>
          </>
        )}
      </p>
    </div>
  );
}

interface BoxGiven {
  source: string;
  into: string;
  result: MergeResult;
  answers: Answers;
  strategy: Strategy;
  setStrategy: (strategy: Strategy) => void;
  head: string;
  finish: (result: MergeResult) => void;
}

function MergeBox({ source, into, result, answers, strategy, setStrategy, head, finish }: BoxGiven) {
  const view = useGraph();
  const { go } = useNavigation();
  const [message, setMessage] = useState("");
  const [deletes, setDeletes] = useState(false);
  const doing = useDoing();
  const open = result.conflicts.filter((conflict) => !isAnswered(conflict, answers[conflictKey(conflict)]));
  const isReady = open.length === 0 && result.outcome !== "already_up_to_date";
  const total = useMemo(() => Object.values(result.counts).reduce((sum, item) => ({ insert: sum.insert + item.inserted, update: sum.update + item.updated, delete: sum.delete + item.deleted }), { insert: 0, update: 0, delete: 0 }), [result]);
  const merge = (isTried: boolean) =>
    doing.run(async () => {
      const resolutions = writeResolutions(result.conflicts, answers);
      const body = { source, target: into, strategy, resolutions: resolutions.length > 0 ? resolutions : null, dry_run: isTried, message: message || null, delete_branch: deletes };
      const made = (await view.session.client.mergeBranch({ graph: view.graph, idempotencyKey: isTried ? null : makeKey(), omnigraphIfGraphCommit: isTried ? null : head, body: body as never })) as unknown as MergeResult;
      if (made.conflicts.length > 0) throw new Error(made.conflicts.map((conflict) => conflict.message).join("\n"));
      if (!isTried) {
        finish(made);
        view.refresh();
      }
    });
  const propose = () =>
    doing.run(async () => {
      const path = `/graphs/${encodeURIComponent(view.graph)}/proposals`;
      const made = await callRoute<Proposal>(view.session, "POST", path, { source, into, title: message, strategy }, { "Idempotency-Key": makeKey() });
      go(writePlace({ graph: view.graph, page: "proposal", params: { id: made.id } }));
    });
  return (
    <section className={`mergebox ${isReady ? "good" : open.length > 0 ? "bad" : ""}`} aria-label="Merge">
      <div className="head">
        <strong role="status">
          {result.outcome === "already_up_to_date" ? "Up to date" : open.length > 0 ? `${tellCount(open.length, "conflict")} to settle` : result.conflicts.length > 0 ? "All conflicts are settled" : "This can be merged"}
        </strong>
        <Counts counts={total} />
        <span className="space" />
        <label className="quiet small">
          compare by{" "}
          <select value={strategy} onChange={(event) => setStrategy(event.target.value as Strategy)}>
            {STRATEGIES.map((name) => (
              <option key={name} value={name}>
                {{ property: "property", entity: "whole entity", ours: "ours wins", theirs: "theirs wins" }[name]}
              </option>
            ))}
          </select>
        </label>
      </div>
      {!view.isReadOnly && result.outcome !== "already_up_to_date" && (
        <div className="actions">
          <input className="grow" aria-label="Message" placeholder="What this is for" value={message} onChange={(event) => setMessage(event.target.value)} />
          <label>
            <input type="checkbox" checked={deletes} onChange={(event) => setDeletes(event.target.checked)} />
            delete the branch
          </label>
          <button onClick={() => merge(true)} disabled={doing.isBusy}>
            Try
          </button>
          <button onClick={propose} disabled={doing.isBusy}>
            Propose
          </button>
          <button className="primary" disabled={!isReady || doing.isBusy} onClick={() => merge(false)}>
            Merge
          </button>
        </div>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </section>
  );
}
