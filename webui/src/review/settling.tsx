/** Answers to the conflicts of a proposal, which the server keeps: settled in part, taken up again, taken back. */

import { useEffect, useState } from "react";
import { useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Mergeable, Properties, Proposal } from "../api/shapes";
import { conflictKey, isAnswered, readResolutions, writeResolutions, type Answers } from "../lib/answers";
import { tellCount, tellValue } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Failure } from "../parts/states";
import { Name } from "../parts/values";
import { Conflicts } from "./conflicts";

interface Given {
  proposal: Proposal;
  refresh: () => void;
}

export function Settling({ proposal, mergeable, refresh }: Given & { mergeable: Mergeable }) {
  const view = useGraph();
  const { conflicts } = mergeable;
  const [answers, setAnswers] = useState<Answers>(() => readResolutions(conflicts, proposal.resolutions));
  const [isSaved, setSaved] = useState(true);
  const doing = useDoing();
  useEffect(() => {
    setAnswers((old) => ({ ...readResolutions(conflicts, proposal.resolutions), ...old }));
  }, [conflicts, proposal.resolutions]);
  const settled = conflicts.filter((conflict) => isAnswered(conflict, answers[conflictKey(conflict)])).length;
  return (
    <>
      <Conflicts
        conflicts={conflicts}
        answers={answers}
        change={(next) => {
          setAnswers(next);
          setSaved(false);
        }}
        names={{ ours: proposal.into, theirs: proposal.source, base: "before" }}
        commits={{ ours: proposal.target_commit ?? "main", theirs: proposal.source_commit ?? "main" }}
      />
      <div className="actions">
        <button
          className="primary"
          disabled={doing.isBusy || isSaved || settled === 0}
          onClick={() =>
            doing.run(async () => {
              await view.session.client.resolveProposal({ graph: view.graph, id: proposal.id, idempotencyKey: makeKey(), body: { resolutions: writeResolutions(conflicts, answers) } });
              setSaved(true);
              refresh();
            })
          }
        >
          Save {tellCount(settled, "answer")}
        </button>
        <span className="quiet" role="status">
          What is saved waits for you, whenever you come back.
        </span>
      </div>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </>
  );
}

/** Answers that are kept: each can be taken back, which opens its conflict again. */
export function SavedAnswers({ proposal, refresh }: Given) {
  const view = useGraph();
  const doing = useDoing();
  const takeBack = (at: number) =>
    doing.run(async () => {
      const resolutions = proposal.resolutions.filter((_, other) => other !== at);
      await view.session.client.resolveProposal({ graph: view.graph, id: proposal.id, idempotencyKey: makeKey(), body: { resolutions, replace: true } });
      refresh();
    });
  return (
    <details className="difference">
      <summary>
        <span className="chip good">{tellCount(proposal.resolutions.length, "saved answer")}</span>
      </summary>
      <ul className="list inset">
        {proposal.resolutions.map((answer, at) => (
          <li key={at} className="row proposal">
            <span>
              <span className="quiet">{String(answer.type_name ?? "every type")}</span> <Name text={String(answer.entity_id ?? "every one")} /> <span className="quiet">takes {answer.take === "custom" ? tellValue((answer.image as { properties?: Properties } | null)?.properties ?? null, 200) : String(answer.take)}</span>
            </span>
            {!view.isReadOnly && (
              <button disabled={doing.isBusy} onClick={() => takeBack(at)}>
                Take back
              </button>
            )}
          </li>
        ))}
      </ul>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </details>
  );
}
