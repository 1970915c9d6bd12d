/** What is said about a proposal: comments on all of it, on an entity or a property, and verdicts. */

import { useState } from "react";
import { useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Approval, Comment, Proposal } from "../api/shapes";
import type { EntityDifference } from "../lib/differences";
import { cutText, shortId, tellAge } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Failure } from "../parts/states";

interface Given {
  proposal: Proposal;
  /** The commit of the source that is looked at. */
  seen: string | null;
  refresh: () => void;
}

export function Conversation({ proposal, seen, refresh }: Given) {
  return (
    <section className="stack tight" aria-label="Conversation">
      <h2>Conversation</h2>
      {proposal.comments
        .filter((comment) => !comment.entity)
        .map((comment) => (
          <Said key={comment.id} comment={comment} />
        ))}
      {proposal.approvals.map((approval) => (
        <Verdict key={`${approval.actor} ${approval.at}`} verdict={approval} colour="good" now="approved" before="approved, before it changed" />
      ))}
      {(proposal.changes_requested ?? []).map((request) => (
        <Verdict key={`${request.actor} ${request.at}`} verdict={request} colour="wait" now="asks for changes" before="asked for changes, before it changed" />
      ))}
      <CommentForm proposal={proposal} seen={seen} refresh={refresh} label="Comment" />
    </section>
  );
}

function Verdict({ verdict, colour, now, before }: { verdict: Approval; colour: string; now: string; before: string }) {
  return (
    <p className="quiet">
      <span className={`chip ${verdict.is_current ? colour : ""}`}>{verdict.is_current ? now : before}</span> <bdi>{verdict.actor}</bdi> · {tellAge(verdict.at, Date.now())} · <code>{shortId(verdict.commit)}</code> <bdi>{cutText(verdict.text ?? "", 2000)}</bdi>
    </p>
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

/** What is said about one entity, beneath its change. */
export function Discussion({ entity, proposal, seen, refresh }: Given & { entity: EntityDifference }) {
  const [isOpen, setOpen] = useState(false);
  const comments = proposal.comments.filter((comment) => comment.entity?.type === entity.type && comment.entity.id === entity.id);
  return (
    <div className="nothing">
      {comments.map((comment) => (
        <Said key={comment.id} comment={comment} />
      ))}
      {isOpen ? (
        <CommentForm
          proposal={proposal}
          seen={seen}
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

function CommentForm({ proposal, seen, entity, label, refresh }: Given & { entity?: EntityDifference; label: string }) {
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
          const about = entity ? { type: entity.type, id: entity.id, ...(property ? { property } : {}) } : null;
          await view.session.client.commentOnProposal({ graph: view.graph, id: proposal.id, idempotencyKey: makeKey(), body: { text, entity: about, commit: seen } });
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
