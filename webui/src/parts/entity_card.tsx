/** What a chosen node is: its properties, where it leads, and its page. */

import { useAsk } from "../api/ask";
import type { Entity } from "../api/shapes";
import type { PictureNode } from "../lib/picture";
import { useGraph } from "./graph_context";
import { Link } from "./navigation";
import { When } from "./states";
import { Name, ShownValue } from "./values";

export function EntityCard({ node, where, close }: { node: PictureNode; where: { branch?: string; snapshot?: string }; close: () => void }) {
  const view = useGraph();
  const entity = useAsk(`entity ${view.graph} ${node.key} ${where.branch} ${where.snapshot}`, async (signal) => (await view.session.client.showEntity({ graph: view.graph, type: node.type, id: node.id, ...where }, { signal })) as unknown as Entity);
  return (
    <aside className="panel card" aria-label={`${node.type} ${node.label}`}>
      <div className="head">
        <h2>
          <span className="quiet">{node.type}</span> <Name text={node.id} most={40} />
        </h2>
        <span className="space" />
        <button className="plain icon" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      <When asked={entity} what="the node">
        {(found) => (
          <dl className="properties">
            {Object.entries(found.properties)
              .filter(([, value]) => value !== null)
              .map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <ShownValue value={value} most={120} />
                  </dd>
                </div>
              ))}
          </dl>
        )}
      </When>
      <Link className="button" page="entity" params={{ type: node.type, id: node.id, branch: where.branch === "main" ? null : where.branch, at: where.snapshot }}>
        History and blame
      </Link>
    </aside>
  );
}
