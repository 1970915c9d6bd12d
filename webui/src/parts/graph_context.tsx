/** What every page of a graph knows: the graph, its branches, and the commit that is looked at. */

import { createContext, useContext } from "react";
import type { Session } from "../api/session";
import type { Catalog } from "../api/shapes";

export interface GraphView {
  session: Session;
  graph: string;
  actor: string | null;
  isReadOnly: boolean;
  branches: string[];
  branch: string;
  /** A commit or tag where an older state is looked at; null at the head. */
  at: string | null;
  refresh: () => void;
  /** Grows whenever something was written, so that what is shown is asked again. */
  round: number;
}

export const GraphContext = createContext<GraphView | null>(null);

export function useGraph(): GraphView {
  const found = useContext(GraphContext);
  if (!found) throw new Error("no graph");
  return found;
}

/** The branch or the commit that a read names; never both. */
export function target(view: { branch: string; at: string | null }): { branch?: string; snapshot?: string } {
  return view.at === null ? { branch: view.branch } : { snapshot: view.at };
}

export const NO_CATALOG: Catalog = { nodes: [], edges: [] };
