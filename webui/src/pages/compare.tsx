/** Two branches side by side: what one would bring into the other, whether it can, and doing it. */

import { useEffect, useState } from "react";
import { keep } from "../api/session";
import { useAsk } from "../api/ask";
import type { BranchInfo, Conflict, MergeResult } from "../api/shapes";
import { conflictKey, type Answers } from "../lib/answers";
import { cutText, shortId, tellCount } from "../lib/formats";
import { writePlace } from "../lib/place";
import { readRules, writeRules } from "../lib/same_as";
import { ChangesBetween } from "../review/changes";
import { Conflicts } from "../review/conflicts";
import { MergeBox, type Asking } from "../review/merge_box";
import { SameAs } from "../review/same_as";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, When } from "../parts/states";

export default function ComparePage() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const into = place.params.into ?? "main";
  const source = place.params.source ?? (view.branch !== into ? view.branch : view.branches.find((name) => name !== into));
  const { same } = place.params;
  const show = (params: Record<string, string>) => go(writePlace({ graph: view.graph, page: "compare", params: { into, source: source ?? null, same, ...params } }));
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
        <>
          <SameAs rules={readRules(same)} change={(rules) => show({ same: writeRules(rules) })} />
          <Comparison key={`${source}\n${into}`} source={source} into={into} same={same} />
        </>
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

function Comparison({ source, into, same }: { source: string; into: string; same: string | undefined }) {
  const view = useGraph();
  const { client } = view.session;
  const kept = `omnigraph.answers.${view.graph}.${source}.${into}`;
  const [asking, setAsking] = useState<Asking>({ strategy: "property", message: "", deletes: false });
  const [answers, setAnswers] = useState<Answers>(() => readKept(kept));
  const [done, setDone] = useState<MergeResult | null>(null);
  const [later, setLater] = useState<Conflict[]>([]);
  const heads = useAsk(`heads ${view.graph} ${source} ${into} ${view.round}`, async (signal) => {
    const [theirs, ours] = await Promise.all([source, into].map(async (name) => (await client.describeBranch({ graph: view.graph, name, comparedWith: into }, { signal })) as unknown as BranchInfo));
    return { theirs: theirs as BranchInfo, ours: ours as BranchInfo };
  });
  const tried = useAsk(heads.value ? `merge ${view.graph} ${heads.value.theirs.head} ${heads.value.ours.head} ${asking.strategy} ${same}` : null, async (signal) => {
    setLater([]);
    const body = { source, target: into, strategy: asking.strategy, same_as: readRules(same), dry_run: true };
    return (await client.mergeBranch({ graph: view.graph, body }, { signal })) as unknown as MergeResult;
  });
  useEffect(() => keep(kept, JSON.stringify(answers)), [answers, kept]);
  if (done) return <Merged into={into} result={done} />;
  return (
    <When asked={heads} what="both branches">
      {({ theirs, ours }) => (
        <>
          <p className="quiet">
            <bdi>{source}</bdi> is {tellCount(theirs.ahead, "commit")} ahead and {tellCount(theirs.behind, "commit")} behind.
          </p>
          <When asked={tried} what="what a merge would do">
            {(first) => {
              const result = { ...first, conflicts: joinConflicts(first.conflicts, later) };
              return (
                <>
                  <MergeBox
                    compared={{ source, into, theirs: theirs.head, ours: ours.head, rules: readRules(same) }}
                    result={result}
                    find={(found) => setLater(joinConflicts(later, found))}
                    answers={answers}
                    asking={asking}
                    ask={setAsking}
                    finish={(made) => {
                      setAnswers({});
                      setDone(made);
                    }}
                  />
                  {result.conflicts.length > 0 && (
                    <Conflicts conflicts={result.conflicts} answers={answers} change={setAnswers} names={{ ours: into, theirs: source, base: "before" }} commits={{ ours: ours.head, theirs: theirs.head }} />
                  )}
                  {result.outcome === "already_up_to_date" ? <Empty title="Nothing to bring over">{into} has all that {source} says.</Empty> : <ChangesBetween from={result.base} to={theirs.head} />}
                </>
              );
            }}
          </When>
        </>
      )}
    </When>
  );
}

/** What comes up once others are settled, and then those. */
function joinConflicts(first: Conflict[], later: Conflict[]): Conflict[] {
  const known = new Set(first.map(conflictKey));
  return [...later.filter((conflict) => !known.has(conflictKey(conflict))), ...first];
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
