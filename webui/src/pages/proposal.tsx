/** One proposal: what it changes, what is said about it, and whether it can be merged now. */

import { useEffect, useRef, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { callRoute, makeKey } from "../api/session";
import type { Comment, Commit, Mergeable, Properties, Proposal } from "../api/shapes";
import { conflictKey, isAnswered, readResolutions, writeResolutions, type Answers } from "../lib/answers";
import type { EntityDifference } from "../lib/differences";
import { cutText, shortId, tellAge, tellCount, tellValue } from "../lib/formats";
import { ChangesBetween } from "../parts/changes";
import { Conflicts } from "../parts/conflicts";
import { Counts } from "../parts/difference";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, Failure, When } from "../parts/states";
import { ResultTable } from "../parts/table";
import { Name } from "../parts/values";
import { Revert } from "./commit";
import { StateChip } from "./proposals";

const LOOK_MILLISECONDS = 5_000;

export default function ProposalPage() {
  const view = useGraph();
  const { place } = useNavigation();
  const id = place.params.id ?? "";
  const path = `/graphs/${encodeURIComponent(view.graph)}/proposals/${encodeURIComponent(id)}`;
  const [round, setRound] = useState(0);
  const asked = useAsk(`proposal ${path} ${round}`, () => callRoute<Proposal>(view.session, "GET", path));
  const [last, setLast] = useState<Proposal | null>(null);
  useEffect(() => {
    if (asked.value) setLast(asked.value);
  }, [asked.value]);
  const known = asked.value ?? (last?.id === id ? last : null);
  if (!known) return <When asked={asked} what="the proposal">{() => null}</When>;
  return <Shown proposal={known} path={path} refresh={() => setRound((count) => count + 1)} />;
}

function Shown({ proposal, path, refresh }: { proposal: Proposal; path: string; refresh: () => void }) {
  const view = useGraph();
  const isOpen = proposal.state === "open";
  const [beat, setBeat] = useState(0);
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) setBeat((count) => count + 1);
    }, LOOK_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isOpen]);
  const judged = useAsk(isOpen ? `mergeable ${path} ${beat} ${proposal.updated_at} ${proposal.events?.length ?? 0} ${view.round}` : null, () => callRoute<Mergeable>(view.session, "GET", `${path}/mergeable`));
  const [mergeable, setMergeable] = useState<Mergeable | null>(null);
  useEffect(() => {
    if (judged.value) setMergeable((old) => (JSON.stringify(old) === JSON.stringify(judged.value) ? old : (judged.value ?? null)));
  }, [judged.value]);

  const from = proposal.base_commit ?? proposal.target_commit;
  const to = proposal.source_commit;
  const general = proposal.comments.filter((comment) => !comment.entity);
  const under = (entity: EntityDifference) => <Discussion entity={entity} comments={proposal.comments.filter((comment) => comment.entity?.type === entity.type && comment.entity.id === entity.id)} path={path} refresh={refresh} />;
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
      {isOpen ? (
        judged.error !== undefined && !mergeable ? (
          <Failure error={judged.error} again={judged.again} />
        ) : (
          <MergeBox proposal={proposal} mergeable={mergeable} path={path} refresh={refresh} />
        )
      ) : (
        <Ended proposal={proposal} path={path} refresh={refresh} />
      )}
      {isOpen && mergeable && mergeable.conflicts.length > 0 && <Settling proposal={proposal} mergeable={mergeable} path={path} refresh={refresh} />}
      {isOpen && proposal.resolutions.length > 0 && <SavedAnswers proposal={proposal} path={path} refresh={refresh} />}
      {mergeable && mergeable.checks.length > 0 && <Checks checks={mergeable.checks} />}
      {from && to ? <ChangesBetween from={from} to={to} under={under} /> : <Empty title="Its branch is gone" />}
      <section className="stack tight" aria-label="Conversation">
        <h2>Conversation</h2>
        {general.map((comment) => (
          <Said key={comment.id} comment={comment} />
        ))}
        {proposal.approvals.map((approval) => (
          <p key={`${approval.actor} ${approval.at}`} className="quiet">
            <span className={`chip ${approval.is_current ? "good" : ""}`}>{approval.is_current ? "approved" : "approved, before it changed"}</span> <bdi>{approval.actor}</bdi> · {tellAge(approval.at, Date.now())} · <code>{shortId(approval.commit)}</code> <bdi>{cutText(approval.text ?? "", 2000)}</bdi>
          </p>
        ))}
        {(proposal.changes_requested ?? []).map((request) => (
          <p key={`${request.actor} ${request.at}`} className="quiet">
            <span className={`chip ${request.is_current ? "wait" : ""}`}>{request.is_current ? "asks for changes" : "asked for changes, before it changed"}</span> <bdi>{request.actor}</bdi> · {tellAge(request.at, Date.now())} <bdi>{cutText(request.text ?? "", 2000)}</bdi>
          </p>
        ))}
        <CommentForm path={path} refresh={refresh} label="Comment" />
      </section>
    </>
  );
}

function Ended({ proposal, path, refresh }: { proposal: Proposal; path: string; refresh: () => void }) {
  const view = useGraph();
  const doing = useDoing();
  const merged = proposal.merged_commit;
  const commit = useAsk(merged ? `merged ${view.graph} ${merged}` : null, async (signal) => (await view.session.client.showCommit({ graph: view.graph, commit: merged ?? "" }, { signal })) as unknown as Commit);
  return (
    <div className={`mergebox ${merged ? "good" : ""}`}>
      {merged ? (
        <>
          <p>
            <strong>Merged</strong> as{" "}
            <Link page="commit" params={{ id: merged }}>
              <code>{shortId(merged)}</code>
            </Link>
          </p>
          {commit.value && <Revert commit={commit.value} />}
        </>
      ) : (
        <div className="actions">
          <strong>Closed</strong>
          <button
            disabled={doing.isBusy}
            onClick={() =>
              doing.run(async () => {
                await callRoute(view.session, "POST", `${path}/reopen`, {});
                refresh();
              })
            }
          >
            Reopen
          </button>
        </div>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </div>
  );
}

function MergeBox({ proposal, mergeable, path, refresh }: { proposal: Proposal; mergeable: Mergeable | null; path: string; refresh: () => void }) {
  const view = useGraph();
  const doing = useDoing();
  const [text, setText] = useState("");
  const act = (what: string, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
    doing.run(async () => {
      await callRoute(view.session, "POST", `${path}/${what}`, body, headers);
      setText("");
      refresh();
      if (what === "merge") view.refresh();
    });
  const counts = Object.values(mergeable?.counts ?? {}).reduce((sum, item) => ({ insert: sum.insert + item.inserted, update: sum.update + item.updated, delete: sum.delete + item.deleted }), { insert: 0, update: 0, delete: 0 });
  return (
    <section className={`mergebox ${mergeable === null ? "" : mergeable.mergeable ? "good" : "bad"}`} aria-label="Merge">
      <div className="head">
        <strong role="status">{mergeable === null ? "Looking whether this can be merged …" : mergeable.mergeable ? "This can be merged" : "This cannot be merged yet"}</strong>
        <Counts counts={counts} />
      </div>
      {mergeable && mergeable.reasons.length > 0 && (
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
          <button disabled={doing.isBusy} onClick={() => act("approve", { commit: proposal.source_commit, text })}>
            Approve
          </button>
          <button disabled={doing.isBusy || text === ""} onClick={() => act("request-changes", { text })}>
            Ask for changes
          </button>
          <button disabled={doing.isBusy} className="danger" onClick={() => act("close", { text })}>
            Close
          </button>
          <button className="primary" disabled={doing.isBusy || !mergeable?.mergeable} onClick={() => act("merge", {}, { "Idempotency-Key": makeKey() })}>
            Merge
          </button>
        </div>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </section>
  );
}

function Settling({ proposal, mergeable, path, refresh }: { proposal: Proposal; mergeable: Mergeable; path: string; refresh: () => void }) {
  const view = useGraph();
  const [answers, setAnswers] = useState<Answers>(() => readResolutions(mergeable.conflicts, proposal.resolutions));
  const [isSaved, setSaved] = useState(true);
  const all = useRef(mergeable.conflicts);
  const doing = useDoing();
  useEffect(() => {
    all.current = mergeable.conflicts;
    setAnswers((old) => ({ ...readResolutions(mergeable.conflicts, proposal.resolutions), ...old }));
  }, [mergeable.conflicts, proposal.resolutions]);
  const settled = mergeable.conflicts.filter((conflict) => isAnswered(conflict, answers[conflictKey(conflict)])).length;
  return (
    <>
      <Conflicts
        conflicts={mergeable.conflicts}
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
              await callRoute(view.session, "PUT", `${path}/resolutions`, { resolutions: writeResolutions(mergeable.conflicts, answers) });
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

/** Answers that the server keeps: each can be taken back, which opens its conflict again. */
function SavedAnswers({ proposal, path, refresh }: { proposal: Proposal; path: string; refresh: () => void }) {
  const view = useGraph();
  const doing = useDoing();
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
              <button
                disabled={doing.isBusy}
                onClick={() =>
                  doing.run(async () => {
                    await callRoute(view.session, "PUT", `${path}/resolutions`, { resolutions: proposal.resolutions.filter((_, other) => other !== at), replace: true });
                    refresh();
                  })
                }
              >
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

function Said({ comment }: { comment: Comment }) {
  return (
    <div className="comment">
      <p className="by">
        <bdi>{comment.actor ?? "nobody"}</bdi> · {tellAge(comment.at, Date.now())}
        {comment.entity?.property && (
          <>
            {" on "}
            <code>{comment.entity.property}</code>
          </>
        )}
      </p>
      <p className="text">
        <bdi>{cutText(comment.text, 8000)}</bdi>
      </p>
    </div>
  );
}

function Discussion({ entity, comments, path, refresh }: { entity: EntityDifference; comments: Comment[]; path: string; refresh: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="nothing">
      {comments.map((comment) => (
        <Said key={comment.id} comment={comment} />
      ))}
      {isOpen ? (
        <CommentForm
          path={path}
          entity={entity}
          label={`Comment on ${cutText(entity.id, 40)}`}
          refresh={() => {
            setOpen(false);
            refresh();
          }}
        />
      ) : (
        <button className="link" onClick={() => setOpen(true)}>
          Comment
        </button>
      )}
    </div>
  );
}

function CommentForm({ path, entity, label, refresh }: { path: string; entity?: EntityDifference; label: string; refresh: () => void }) {
  const view = useGraph();
  const [text, setText] = useState("");
  const [property, setProperty] = useState("");
  const doing = useDoing();
  if (view.isReadOnly) return null;
  return (
    <form
      className="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        doing.run(async () => {
          const about = entity ? { entity: { type: entity.type, id: entity.id, ...(property ? { property } : {}) } } : {};
          await callRoute(view.session, "POST", `${path}/comments`, { text, ...about });
          setText("");
          refresh();
        });
      }}
    >
      <textarea aria-label={label} value={text} onChange={(event) => setText(event.target.value)} />
      <div className="actions">
        {entity && entity.properties.length > 0 && (
          <select aria-label="About a property" value={property} onChange={(event) => setProperty(event.target.value)}>
            <option value="">about all of it</option>
            {entity.properties.map((row) => (
              <option key={row.name}>{row.name}</option>
            ))}
          </select>
        )}
        <button type="submit" disabled={text.trim() === "" || doing.isBusy}>
          Say it
        </button>
      </div>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </form>
  );
}
