/** The page as a whole: who is logged in, which graph, and which page of it. */

import { Component, lazy, Suspense, useEffect, useMemo, useState, type ComponentType, type LazyExoticComponent, type ReactNode } from "react";
import { askAllAgain, useAsk } from "./api/ask";
import { OmniGraphError, openSession, type Session } from "./api/session";
import { writePlace } from "./lib/place";
import { Login, LoginAgain } from "./pages/login";
import { GraphContext, type GraphView } from "./parts/graph_context";
import { NavigationProvider, useNavigation } from "./parts/navigation";
import { Mark, Shell } from "./parts/shell";
import { Empty, Failure, Loading } from "./parts/states";

const PAGES: Record<string, LazyExoticComponent<ComponentType>> = {
  schema: lazy(() => import("./pages/schema")),
  query: lazy(() => import("./pages/query")),
  entity: lazy(() => import("./pages/entity")),
  commits: lazy(() => import("./pages/commits")),
  commit: lazy(() => import("./pages/commit")),
  compare: lazy(() => import("./pages/compare")),
  proposals: lazy(() => import("./pages/proposals")),
  proposal: lazy(() => import("./pages/proposal")),
  jobs: lazy(() => import("./pages/jobs")),
  health: lazy(() => import("./pages/health")),
  access: lazy(() => import("./pages/access")),
};

export function App() {
  const [isRefused, setRefused] = useState(false);
  const session = useMemo(() => openSession(() => setRefused(true)), []);
  const graphs = useAsk("graphs", async (signal) => {
    const told = await session.client.listGraphs({}, { signal });
    return told.graphs as string[];
  });
  const [isInside, setInside] = useState(false);
  const isHidden = graphs.error instanceof OmniGraphError && graphs.error.status === 403;
  useEffect(() => {
    if (graphs.value !== undefined || isHidden) setInside(true);
  }, [graphs.value, isHidden]);
  const enter = (given: string) => {
    session.enter(given);
    setRefused(false);
    askAllAgain();
  };
  const isUnknown = graphs.error instanceof OmniGraphError && graphs.error.status === 401;
  if (isUnknown && !isInside) return <Login isWrong={isRefused && session.token !== null} enter={enter} />;
  if (graphs.error !== undefined && !isInside) {
    return (
      <main className="alone">
        <Failure error={graphs.error} again={graphs.again} />
      </main>
    );
  }
  if (!isInside) {
    return (
      <main className="alone">
        <Loading what="graphs" />
      </main>
    );
  }
  return (
    <NavigationProvider>
      <Graphs session={session} graphs={graphs.value ?? []} isHidden={isHidden} />
      {isRefused && <LoginAgain enter={enter} />}
    </NavigationProvider>
  );
}

function Graphs({ session, graphs, isHidden }: { session: Session; graphs: string[]; isHidden: boolean }) {
  const { place, go } = useNavigation();
  const only = graphs.length === 1 ? graphs[0] : undefined;
  useEffect(() => {
    if (place.graph === null && only !== undefined) go(writePlace({ graph: only }), true);
  }, [place.graph, only, go]);
  if (place.graph === null) {
    return (
      <main className="alone">
        <h1 className="brand">
          <Mark /> OmniGraph
        </h1>
        {isHidden ? (
          <NamedGraph />
        ) : graphs.length === 0 ? (
          <Empty title="There is no graph that you may see" />
        ) : (
          <ul className="cards">
            {graphs.map((name) => (
              <li key={name}>
                <a
                  href={writePlace({ graph: name })}
                  onClick={(event) => {
                    event.preventDefault();
                    go(writePlace({ graph: name }));
                  }}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        )}
      </main>
    );
  }
  return <GraphPages key={place.graph} session={session} graphs={graphs} graph={place.graph} />;
}

/** Where the list of graphs is not for everybody, one says which it is. */
function NamedGraph() {
  const { go } = useNavigation();
  const [name, setName] = useState("");
  return (
    <form
      className="panel stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (name) go(writePlace({ graph: name }));
      }}
    >
      <label className="field">
        Name of the graph
        <input value={name} autoFocus onChange={(event) => setName(event.target.value.trim())} />
      </label>
      <button className="primary" type="submit" disabled={name === ""}>
        Open
      </button>
      <p className="quiet">You may not see which graphs there are.</p>
    </form>
  );
}

function GraphPages({ session, graphs, graph }: { session: Session; graphs: string[]; graph: string }) {
  const { place } = useNavigation();
  const [round, setRound] = useState(0);
  const about = useAsk(`graph ${graph} ${round}`, async (signal) => {
    const [shown, listed] = await Promise.all([session.client.showGraph({ graph }, { signal }), session.client.listBranches({ graph }, { signal })]);
    return { actor: shown.actor as string | null, isReadOnly: shown.read_only as boolean, branches: listed.branches as string[] };
  });
  const [last, setLast] = useState(about.value);
  useEffect(() => {
    if (!about.value) return;
    // Somebody else has logged in: what the one before has seen is nobody's business.
    if (last && last.actor !== about.value.actor) location.reload();
    else setLast(about.value);
  }, [about.value]);
  const known = about.value ?? last;
  const branch = place.params.branch ?? "main";
  const at = place.params.at ?? null;
  const view = useMemo<GraphView | null>(
    () => (known ? { session, graph, ...known, branch, at, round, refresh: () => setRound((count) => count + 1) } : null),
    [session, graph, known, branch, at, round],
  );
  useEffect(() => {
    document.title = `${place.page} · ${graph} · OmniGraph`;
  }, [place.page, graph]);
  if (!view) {
    return (
      <main className="alone">
        {about.error !== undefined ? <Failure error={about.error} again={about.again} /> : <Loading what={graph} />}
        <p>
          <a href="/">All graphs</a>
        </p>
      </main>
    );
  }
  const Page = PAGES[place.page];
  return (
    <GraphContext.Provider value={view}>
      <Shell graphs={graphs.includes(graph) ? graphs : [graph, ...graphs]}>
        <Guard key={place.page}>
          <Suspense fallback={<Loading what="the page" />}>
            {Page ? <Page /> : <Empty title="There is no such page">Choose one in the menu.</Empty>}
          </Suspense>
        </Guard>
      </Shell>
    </GraphContext.Provider>
  );
}

/** What breaks in one page is told there, and the others go on. */
class Guard extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <Failure error={this.state.error} again={() => this.setState({ error: undefined })} />;
  }
}
