/** A conflict of the graph itself: what is in conflict, what stands in its way as a picture, and what may become of that. */

import { useEffect, useState } from "react";
import { useAsk } from "../api/ask";
import type { Catalog, Conflict, EdgeRecord, Entity } from "../api/shapes";
import { isAboutOthers, type Answer, type Other } from "../lib/answers";
import { addEdge, addNode, addRecords, emptyPicture, type Picture } from "../lib/picture";
import { useGraph } from "../parts/graph_context";
import { PictureView } from "../parts/picture_view";
import { useSchema } from "../parts/use_schema";
import { Name } from "../parts/values";

const MOST_EDGES = 20;
const AROUND = 8;

interface Given {
  conflict: Conflict;
  commits: { ours: string; theirs: string };
  answer: Answer | undefined;
  change: (answer: Answer) => void;
}

/** An edge that a conflict names, on the side that has it. */
interface NamedEdge {
  id: string;
  from: string;
  to: string;
  side: "ours" | "theirs";
}

export function InTheWay({ conflict, commits, answer, change }: Given) {
  const view = useGraph();
  const { client } = view.session;
  const catalog = useSchema().value?.catalog;
  const isEdge = catalog?.edges.some((edge) => edge.name === conflict.type_name) ?? false;
  const named = useAsk(catalog && isEdge ? `named ${view.graph} ${conflict.type_name} ${idsOf(conflict).join(" ")} ${commits.ours} ${commits.theirs}` : null, async (signal) => {
    const find = async (id: string): Promise<NamedEdge[]> => {
      for (const side of ["ours", "theirs"] as const) {
        const found = (await client.showEntity({ graph: view.graph, type: conflict.type_name, id, snapshot: commits[side] }, { signal }).catch(() => null)) as Entity | null;
        if (found?.ends) return [{ id, side, ...readEnds(found.ends) }];
      }
      return [];
    };
    return (await Promise.all(idsOf(conflict).slice(0, MOST_EDGES).map(find))).flat();
  });
  const [picture, setPicture] = useState<Picture | null>(null);
  useEffect(() => {
    if (!catalog || (isEdge && !named.value)) return undefined;
    let isCurrent = true;
    const draw = async () => {
      const made = drawConflict(conflict, named.value ?? [], catalog);
      for (const node of [...made.nodes.values()].slice(0, 4)) {
        for (const snapshot of [commits.ours, commits.theirs]) {
          const told = await client.listEdges({ graph: view.graph, type: node.type, id: node.id, limit: AROUND, snapshot }).catch(() => null);
          if (told) addRecords(made, catalog, told.edges as unknown as EdgeRecord[], "context");
        }
      }
      if (isCurrent) setPicture(made);
    };
    void draw();
    return () => {
      isCurrent = false;
    };
  }, [conflict, catalog, isEdge, named.value]);
  const needed = catalog ? missingNode(conflict, catalog) : null;
  return (
    <div className="nothing stack tight">
      {picture && picture.nodes.size > 0 && <PictureView picture={picture} chosen={null} choose={() => undefined} />}
      {isAboutOthers(conflict) && <EdgesThatGo edges={named.value ?? []} type={conflict.type_name} others={answer?.others ?? []} change={(others) => change({ whole: null, properties: {}, others })} />}
      {needed && (
        <button aria-pressed={(answer?.others ?? []).length > 0} onClick={() => change({ whole: null, properties: {}, others: [needed] })}>
          Keep {needed.type} {needed.id}, as it was before
        </button>
      )}
    </div>
  );
}

/** Which of the edges that are too many shall go. */
function EdgesThatGo({ edges, type, others, change }: { edges: NamedEdge[]; type: string; others: Other[]; change: (others: Other[]) => void }) {
  return (
    <fieldset className="stack tight">
      <legend className="quiet">Which of them shall go?</legend>
      {edges.map((edge) => {
        const goes = others.some((other) => other.id === edge.id);
        return (
          <label key={edge.id}>
            <input type="checkbox" checked={goes} onChange={() => change(goes ? others.filter((other) => other.id !== edge.id) : [...others, { kind: "edge", type, id: edge.id, becomes: "gone" }])} />
            <Name text={edge.from} most={40} /> → <Name text={edge.to} most={40} /> <span className="quiet small">{edge.side}</span>
          </label>
        );
      })}
    </fieldset>
  );
}

function idsOf(conflict: Conflict): string[] {
  const listed = conflict.entities.map((item) => (typeof item === "string" ? item : item.id));
  return conflict.entity_id === null || listed.includes(conflict.entity_id) ? listed : [conflict.entity_id, ...listed];
}

function readEnds(ends: NonNullable<Entity["ends"]>): { from: string; to: string } {
  return Array.isArray(ends) ? { from: ends[0], to: ends[1] } : ends;
}

/** The node that an edge needs and that is not there, as something that may stay. */
function missingNode(conflict: Conflict, catalog: Catalog): Other | null {
  const edge = catalog.edges.find((item) => item.name === conflict.type_name);
  const ends = (conflict.theirs ?? conflict.ours ?? conflict.base)?.endpoints;
  if (conflict.kind !== "OrphanEdge" || !edge || !ends || conflict.properties.length !== 1) return null;
  return conflict.properties[0] === "src" ? { kind: "node", type: edge.source, id: ends.from, becomes: "base" } : { kind: "node", type: edge.target, id: ends.to, becomes: "base" };
}

/** What is in conflict, and what a node is needed for that is not there. */
function drawConflict(conflict: Conflict, edges: NamedEdge[], catalog: Catalog): Picture {
  const picture = emptyPicture();
  if (catalog.nodes.some((item) => item.name === conflict.type_name)) {
    for (const id of idsOf(conflict)) addNode(picture, conflict.type_name, id, "blocked");
    return picture;
  }
  for (const edge of edges) addEdge(picture, catalog, conflict.type_name, edge.id, edge.from, edge.to, "blocked");
  const ends = (conflict.theirs ?? conflict.ours)?.endpoints;
  if (ends) addEdge(picture, catalog, conflict.type_name, conflict.entity_id ?? "", ends.from, ends.to, "blocked");
  const gone = missingNode(conflict, catalog);
  for (const node of picture.nodes.values()) if (gone && node.type === gone.type && node.id === gone.id) node.mark = "delete";
  return picture;
}
