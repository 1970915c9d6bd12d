/** Who is allowed what: the caller, and the policy that the server holds everybody to. */

import { useAsk } from "../api/ask";
import { callRoute, OmniGraphError } from "../api/session";
import { useGraph } from "../parts/graph_context";
import { Empty, Failure, Loading } from "../parts/states";

interface Policy {
  actor?: string | null;
  actions?: Record<string, boolean | string[]>;
  [name: string]: unknown;
}

export default function AccessPage() {
  const view = useGraph();
  const asked = useAsk(`policy ${view.graph} ${view.branch}`, () => callRoute<Policy>(view.session, "GET", `/graphs/${encodeURIComponent(view.graph)}/policy?branch=${encodeURIComponent(view.branch)}`));
  const isMissing = asked.error instanceof OmniGraphError && asked.error.status === 404;
  return (
    <>
      <div className="head">
        <h1>Access</h1>
      </div>
      <p className="panel">
        You are <strong>{view.actor ? <bdi>{view.actor}</bdi> : "nobody: this server asks for no token"}</strong>
        {view.isReadOnly && ", and may only read"}.
      </p>
      {asked.isLoading && <Loading what="the policy" />}
      {isMissing && (
        <Empty title="This server has no policy">Whoever has a token may read and write everything.</Empty>
      )}
      {asked.error !== undefined && !isMissing && <Failure error={asked.error} again={asked.again} />}
      {asked.value && (
        <pre className="panel source" tabIndex={0}>
          {JSON.stringify(asked.value, null, 2)}
        </pre>
      )}
    </>
  );
}
