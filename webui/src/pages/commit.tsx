/** One commit: who, when, why, what it changed, and taking it back. */

import { useAsk } from "../api/ask";
import type { Commit } from "../api/shapes";
import { cutText, shortId } from "../lib/formats";
import { ChangesBetween } from "../review/changes";
import { Revert } from "../review/revert";
import { useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { Empty, When } from "../parts/states";

export default function CommitPage() {
  const view = useGraph();
  const { place } = useNavigation();
  const id = place.params.id ?? "";
  const asked = useAsk(id ? `commit ${view.graph} ${id}` : null, async (signal) => (await view.session.client.showCommit({ graph: view.graph, commit: id }, { signal })) as unknown as Commit);
  if (!id) return <Empty title="No commit is named">Choose one in the list of commits.</Empty>;
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
      <p>
        <Link page="schema" params={{ at: commit.id }}>
          Look at the graph as it was then
        </Link>
      </p>
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
