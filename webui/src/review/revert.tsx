/** Taking a commit back, by a new one. */

import { useState } from "react";
import { useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Commit, MergeResult } from "../api/shapes";
import { cutText, shortId } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Failure } from "../parts/states";

export function Revert({ commit }: { commit: Commit }) {
  const view = useGraph();
  const { place } = useNavigation();
  const [branch, setBranch] = useState(() => [place.params.branch, commit.branch].find((name) => name !== undefined && view.branches.includes(name)) ?? "main");
  const [made, setMade] = useState<string | null>(null);
  const doing = useDoing();
  if (view.isReadOnly || commit.parent === null || commit.maintenance) return null;
  if (made !== null) {
    return (
      <p className="notice done" role="status">
        Taken back by{" "}
        <Link page="commit" params={{ id: made }}>
          <code>{shortId(made)}</code>
        </Link>
      </p>
    );
  }
  return (
    <>
      <form
        className="actions"
        onSubmit={(event) => {
          event.preventDefault();
          doing.run(async () => {
            const done = (await view.session.client.revertCommit({ graph: view.graph, commit: commit.id, idempotencyKey: makeKey(), body: { branch } })) as unknown as MergeResult;
            if (!done.commit_id) throw new Error("There is nothing left to take back.");
            setMade(done.commit_id);
            view.refresh();
          });
        }}
      >
        <button type="submit" disabled={doing.isBusy}>
          Revert on
        </button>
        <label>
          <span className="hidden">Branch to revert on</span>
          <select value={branch} onChange={(event) => setBranch(event.target.value)}>
            {view.branches.map((name) => (
              <option key={name} value={name}>
                {cutText(name, 60)}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet">makes a new commit that undoes this one</span>
      </form>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </>
  );
}
