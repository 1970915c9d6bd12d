/** What a picture of a graph holds: nodes and edges with what became of them, from rows, edges or changes. */

import type { Catalog, EdgeRecord, Op, Value } from "../api/shapes";
import type { EntityDifference } from "./differences";
import { keyOf } from "./differences";
import { cutText, tellCount } from "./formats";

export type Mark = Op | "context" | "blocked";

export interface PictureNode {
  key: string;
  type: string;
  id: string;
  label: string;
  mark: Mark | null;
}

export interface PictureEdge {
  key: string;
  type: string;
  id: string;
  from: string;
  to: string;
  mark: Mark | null;
}

export interface Picture {
  nodes: Map<string, PictureNode>;
  edges: Map<string, PictureEdge>;
}

/** More than this is not drawn: a picture of more is none. */
export const MOST_DRAWN = 2_000;
const LABEL = 28;
const NAMES = ["name", "title", "label", "code", "email"];

export function emptyPicture(): Picture {
  return { nodes: new Map(), edges: new Map() };
}

export function nodeKey(type: string, id: string): string {
  return keyOf("node", type, id);
}

/** What a node is called in a picture: a property that names it, or else its id. */
export function labelOf(id: string, properties: Record<string, Value> | undefined): string {
  for (const name of NAMES) {
    const value = properties?.[name];
    if (typeof value === "string" && value !== "") return cutLabel(value);
  }
  return cutLabel(id);
}

export function cutLabel(text: string): string {
  const letters = [...text.slice(0, LABEL * 4)];
  const line = letters.join("").replace(/\s+/g, " ");
  return [...line].length > LABEL || text.length > LABEL * 4 ? `${[...line].slice(0, LABEL).join("")}…` : line;
}

export function addNode(picture: Picture, type: string, id: string, mark: Mark | null, properties?: Record<string, Value>): string {
  const key = nodeKey(type, id);
  const known = picture.nodes.get(key);
  if (!known) picture.nodes.set(key, { key, type, id, label: labelOf(id, properties), mark });
  else if (properties && known.label === cutLabel(id)) known.label = labelOf(id, properties);
  if (known && mark && (known.mark === null || known.mark === "context")) known.mark = mark;
  return key;
}

export function addEdge(picture: Picture, catalog: Catalog, type: string, id: string, from: string, to: string, mark: Mark | null): void {
  const declared = catalog.edges.find((edge) => edge.name === type);
  if (!declared) return;
  const outside = mark === null ? null : "context";
  const source = addNode(picture, declared.source, from, outside);
  const target = addNode(picture, declared.target, to, outside);
  const key = keyOf("edge", type, id);
  const known = picture.edges.get(key);
  if (!known) picture.edges.set(key, { key, type, id, from: source, to: target, mark });
  else if (mark && (known.mark === null || known.mark === "context")) known.mark = mark;
}

/** Everything in rows that is a node or edge: `entity($v)`, lists of them, nodes and edges of paths. */
export function pictureOfRows(rows: Record<string, Value>[], catalog: Catalog, bindings: Record<string, string>): Picture {
  const picture = emptyPicture();
  const edges: [string, string, string, string][] = [];
  const look = (value: Value): void => {
    if (Array.isArray(value)) value.forEach(look);
    else if (value !== null && typeof value === "object") {
      const { type, id, from, to, properties } = value;
      if (typeof type === "string" && typeof id === "string") {
        if (typeof from === "string" && typeof to === "string") edges.push([type, id, from, to]);
        else addNode(picture, type, id, null, properties as Record<string, Value>);
      } else Object.values(value).forEach(look);
    }
  };
  for (const row of rows) {
    for (const [column, value] of Object.entries(row)) {
      const type = bindings[column];
      if (type && typeof value === "string") addNode(picture, type, value, null);
      else look(value);
    }
  }
  for (const [type, id, from, to] of edges) addEdge(picture, catalog, type, id, from, to, null);
  return picture;
}

/** A query for the edges of one type between nodes that are drawn. */
export interface EdgeSearch {
  type: string;
  query: string;
  params: { from: string[]; to: string[] };
}

/** What to ask for the edges between the nodes of a picture: rows of nodes alone say nothing of them. */
export function searchEdges(picture: Picture, catalog: Catalog): EdgeSearch[] {
  const ids = new Map<string, string[]>();
  for (const node of picture.nodes.values()) ids.set(node.type, [...(ids.get(node.type) ?? []), node.id]);
  return catalog.edges.flatMap((edge) => {
    const from = ids.get(edge.source);
    const to = ids.get(edge.target);
    if (!from || !to) return [];
    const name = edge.name.charAt(0).toLowerCase() + edge.name.slice(1);
    const match = `$x: ${edge.source}  $x $e: ${name} $y  $x.id in $from  $y.id in $to`;
    const query = `query between($from: [String], $to: [String]) { match { ${match} } return { $e.id as id, $e.from as source, $e.to as target } limit ${MOST_DRAWN} }`;
    return [{ type: edge.name, query, params: { from, to } }];
  });
}

export function addRecords(picture: Picture, catalog: Catalog, records: EdgeRecord[], mark: Mark | null): void {
  for (const record of records) {
    const id = typeof record.data.id === "string" ? record.data.id : JSON.stringify([record.from, record.to]);
    addEdge(picture, catalog, record.edge, id, record.from, record.to, mark);
  }
}

/** The changed entities by themselves; what stands around them is asked for after. */
export function pictureOfChanges(entities: EntityDifference[], catalog: Catalog): Picture {
  const picture = emptyPicture();
  for (const entity of entities) {
    if (entity.kind !== "node") continue;
    const properties = Object.fromEntries(entity.properties.map((item) => [item.name, item.after ?? item.before ?? null]));
    addNode(picture, entity.type, entity.id, entity.op, properties);
  }
  for (const entity of entities) {
    if (entity.kind === "edge" && entity.ends) {
      addEdge(picture, catalog, entity.type, entity.id, entity.ends.from, entity.ends.to, entity.op);
    }
  }
  return picture;
}

/** Both pictures in one; what is marked in either stays marked. */
export function joinPictures(left: Picture, right: Picture): Picture {
  const joined: Picture = { nodes: new Map(left.nodes), edges: new Map(left.edges) };
  for (const node of right.nodes.values()) if (!joined.nodes.has(node.key)) joined.nodes.set(node.key, node);
  for (const edge of right.edges.values()) if (!joined.edges.has(edge.key)) joined.edges.set(edge.key, edge);
  return joined;
}

/** As many nodes as may be drawn, with the edges between them; what is marked comes first. */
export function cutPicture(picture: Picture, most: number = MOST_DRAWN): Picture {
  if (picture.nodes.size <= most) return picture;
  const rank = (node: PictureNode) => (node.mark && node.mark !== "context" ? 0 : 1);
  const kept = [...picture.nodes.values()].sort((a, b) => rank(a) - rank(b)).slice(0, most);
  const nodes = new Map(kept.map((node) => [node.key, node]));
  const edges = new Map([...picture.edges].filter(([, edge]) => nodes.has(edge.from) && nodes.has(edge.to)));
  return { nodes, edges };
}

export function describePicture(picture: Picture): string {
  const names = [...picture.nodes.values()].slice(0, 5).map((node) => cutText(node.label, LABEL));
  return `A graph of ${tellCount(picture.nodes.size, "node")} and ${tellCount(picture.edges.size, "edge")}: ${names.join(", ")}${picture.nodes.size > 5 ? ", …" : ""}`;
}
