/** The frame of every page: the graph, where one may go, what is looked at, and who one is. */

import { useState, type ReactNode } from "react";
import { leave } from "../api/session";
import { useGraph } from "./graph_context";
import { Link, useNavigation } from "./navigation";
import { ThemeButton } from "./theme";
import { TimePicker } from "./time";
import { writePlace } from "../lib/place";

const GROUPS: [string, [string, string][]][] = [
  ["Explore", [["schema", "Schema"], ["query", "Query"]]],
  ["History", [["commits", "Commits"]]],
  ["Review", [["proposals", "Proposals"], ["compare", "Compare"]]],
  ["Operate", [["jobs", "Jobs"], ["health", "Health"], ["access", "Access"]]],
];
const TIMED = new Set(["schema", "query", "entity"]);
const WITHIN: Record<string, string> = { commit: "commits", proposal: "proposals", entity: "query" };

export function Shell({ graphs, children }: { graphs: string[]; children: ReactNode }) {
  const view = useGraph();
  const { place, go } = useNavigation();
  const [isOpen, setOpen] = useState(false);
  const here = WITHIN[place.page] ?? place.page;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="bar">
        <button className="menu" aria-expanded={isOpen} aria-controls="navigation" onClick={() => setOpen(!isOpen)}>
          <span aria-hidden="true">☰</span>
          <span className="hidden">Menu</span>
        </button>
        <a
          className="brand"
          aria-label="OmniGraph: all graphs"
          href="/"
          onClick={(event) => {
            event.preventDefault();
            go("/");
          }}
        >
          <Mark /> <span>OmniGraph</span>
        </a>
        <label className="graphs">
          <span className="hidden">Graph</span>
          <select value={view.graph} onChange={(event) => go(writePlace({ graph: event.target.value }))}>
            {graphs.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <span className="space" />
        <span className="actor">{view.actor ? <bdi>{view.actor}</bdi> : <span className="quiet">no login</span>}</span>
        <ThemeButton />
        {view.session.token !== null && (
          <button
            className="plain"
            onClick={leave}
          >
            Log out
          </button>
        )}
      </header>
      <nav id="navigation" className={isOpen ? "side open" : "side"} aria-label="Pages">
        {GROUPS.map(([title, pages]) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {pages.map(([page, label]) => (
                <li key={page}>
                  <Link
                    page={page}
                    params={{ branch: place.params.branch, at: TIMED.has(page) ? place.params.at : null }}
                    aria-current={here === page ? "page" : undefined}
                    onClick={() => setOpen(false)}
                  >
                    {label}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <main id="content" tabIndex={-1}>
        {TIMED.has(place.page) && <TimePicker />}
        {children}
      </main>
    </div>
  );
}

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <g stroke="currentColor" strokeWidth="2.4" fill="none">
        <path d="M10 9v14M10 19c0-5 12-2 12-8" />
      </g>
      <g fill="currentColor">
        <circle cx="10" cy="8" r="3.6" />
        <circle cx="10" cy="24" r="3.6" />
        <circle cx="22" cy="10" r="3.6" />
      </g>
    </svg>
  );
}
