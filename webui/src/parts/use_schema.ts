/** The schema of what is looked at. */

import { useAsk } from "../api/ask";
import type { Schema } from "../api/shapes";
import { target, useGraph } from "./graph_context";

export function useSchema() {
  const view = useGraph();
  const where = target(view);
  return useAsk(`schema ${view.graph} ${view.branch} ${view.at} ${view.round}`, async (signal) => {
    const told = await view.session.client.showSchema({ graph: view.graph, ...where }, { signal });
    return told as unknown as Schema;
  });
}
