/** One commit: who, when, why, what it changed, and taking it back. */

import { useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Commit, MergeResult } from "../api/shapes";
import { cutText, shortId } from "../lib/formats";
import { ChangesBetween } from "../parts/changes";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, Failure, When } from "../parts/states";

export default function CommitPage() {
  const view = useGraph();
  const { place } = useNavigation();
  const id = place.params.id ?? "";
  const asked = useAsk(`commit ${view.graph} ${id}`, async (signal) => (await view.session.client.showCommit({ graph: view.graph, commit: id }, { signal })) as unknown as Commit);
  return <When asked={asked} what="the commit">{(commit) => <About key={commit.id} commit={commit} />}</When>;
}

function About({ commit }: { commit: Commit }) {
  return (
    <>
      <div className="head">
        <h1>
          <bdi>{cutText(commit.message ?? commit.operation, 200)}</bdi>
        </h1>
      </div>
      <dl className="properties panel facts">
        <Fact name="Commit">
          <code>{commit.id}</code> on <bdi>{commit.branch}</bdi>, version {commit.version}
        </Fact>
        <Fact name="By">
          <bdi>{commit.actor ?? "nobody"}</bdi>, <time dateTime={commit.created_at}>{new Date(commit.created_at).toLocaleString()}</time>
        </Fact>
        <Fact name="Kind">
          {commit.operation}
          {commit.maintenance && <span className="quiet"> (maintenance: what the graph says stays)</span>}
        </Fact>
        {commit.parent && (
          <Fact name={commit.merged_parent ? "Parents" : "Parent"}>
            <Link page="commit" params={{ id: commit.parent }}>
              <code>{shortId(commit.parent)}</code>
            </Link>
            {commit.merged_parent && (
              <>
                {" and "}
                <Link page="commit" params={{ id: commit.merged_parent }}>
                  <code>{shortId(commit.merged_parent)}</code>
                </Link>
              </>
            )}
          </Fact>
        )}
        {Object.entries(commit.metadata).map(([name, value]) => (
          <Fact key={name} name={name}>
            <bdi>{cutText(value, 400)}</bdi>
          </Fact>
        ))}
      </dl>
      <Revert commit={commit} />
      {commit.parent ? <ChangesBetween from={commit.parent} to={commit.id} /> : <Empty title="The first commit">The graph began with it.</Empty>}
    </>
  );
}

export function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>
        <bdi>{cutText(name, 60)}</bdi>
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Revert({ commit }: { commit: Commit }) {
  const view = useGraph();
  const { place } = useNavigation();
  const [branch, setBranch] = useState(place.params.branch ?? commit.branch);
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
