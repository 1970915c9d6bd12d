/** Where types stand in the drawing of a schema: dagre lays them out by the edges between them. */

import { Graph, layout } from "@dagrejs/dagre";
import type { Catalog, EdgeType, NodeType, PropertyType } from "../api/shapes";

export interface Box {
  type: NodeType;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Arrow {
  type: EdgeType;
  points: { x: number; y: number }[];
  label: { x: number; y: number };
}

export interface SchemaDrawing {
  boxes: Box[];
  arrows: Arrow[];
  width: number;
  height: number;
}

export const ROW = 20;
export const HEAD = 34;
export const MOST_ROWS = 8;
/** Letters of the name of an edge that are drawn. */
export const MOST_LABEL = 30;
const WIDTH = 216;
const LOOP = 74;

export function heightOf(type: NodeType): number {
  const rows = Math.min(type.properties.length, MOST_ROWS) + (type.properties.length > MOST_ROWS ? 1 : 0);
  return HEAD + rows * ROW + 10;
}

/** How wide the name of an edge is drawn. */
export function widthOf(type: EdgeType): number {
  return Math.min(type.name.length, MOST_LABEL) * 7.2 + 16;
}

export function laySchema(catalog: Catalog, isNarrow: boolean): SchemaDrawing {
  const graph = new Graph({ multigraph: true, directed: true });
  graph.setGraph({ rankdir: isNarrow ? "TB" : "LR", nodesep: 36, ranksep: isNarrow ? 70 : 150, edgesep: 24, marginx: 20, marginy: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  const loops = new Map<string, EdgeType[]>();
  for (const type of catalog.edges) {
    if (type.source === type.target) loops.set(type.source, [...(loops.get(type.source) ?? []), type]);
  }
  // A loop hangs below its type, and takes room there.
  const room = (type: NodeType) => LOOP * Math.ceil((loops.get(type.name)?.length ?? 0) / 2);
  for (const type of catalog.nodes) graph.setNode(type.name, { width: WIDTH, height: heightOf(type) + room(type) });
  for (const type of catalog.edges) {
    if (type.source !== type.target && graph.hasNode(type.source) && graph.hasNode(type.target)) {
      graph.setEdge(type.source, type.target, { width: widthOf(type), height: 34, labelpos: "c" }, type.name);
    }
  }
  layout(graph);
  const boxes = catalog.nodes.map((type) => {
    const { x, y, width, height } = graph.node(type.name) as { x: number; y: number; width: number; height: number };
    return { type, x: x - width / 2, y: y - height / 2, width, height: height - room(type) };
  });
  const arrows: Arrow[] = boxes.flatMap((box) => (loops.get(box.type.name) ?? []).map((type, at) => drawLoop(type, box, at)));
  for (const type of catalog.edges) {
    if (type.source === type.target) continue;
    const edge = graph.edge({ v: type.source, w: type.target, name: type.name }) as { points: { x: number; y: number }[]; x?: number; y?: number } | undefined;
    if (!edge) continue;
    const at = (name: string) => boxes.find((box) => box.type.name === name);
    const points = edge.points.map((point, index) => (index === 0 ? leadTo(point, at(type.source)) : index === edge.points.length - 1 ? leadTo(point, at(type.target)) : point));
    const middle = edge.points[Math.floor(edge.points.length / 2)] ?? { x: 0, y: 0 };
    arrows.push({ type, points, label: { x: edge.x ?? middle.x, y: edge.y ?? middle.y } });
  }
  const size = graph.graph() as { width?: number; height?: number };
  return { boxes, arrows, width: size.width ?? 0, height: size.height ?? 0 };
}

/** The end of an arrow, at the box itself: dagre ends it where the room of the loops does. */
function leadTo(point: { x: number; y: number }, box: Box | undefined): { x: number; y: number } {
  if (!box) return point;
  const bottom = box.y + box.height;
  const isBeside = point.x <= box.x || point.x >= box.x + box.width;
  return { x: point.x, y: Math.min(point.y, isBeside ? bottom - HEAD / 2 : bottom) };
}

/** Loops hang below a box, two beside each other, deeper when there are more. */
function drawLoop(type: EdgeType, box: Box, at: number): Arrow {
  const middle = box.x + box.width * (at % 2 === 0 ? 0.27 : 0.73);
  const top = box.y + box.height;
  const depth = LOOP * (Math.floor(at / 2) + 1) - 30;
  const points = [
    { x: middle - 34, y: top },
    { x: middle - 44, y: top + depth },
    { x: middle, y: top + depth },
    { x: middle + 44, y: top + depth },
    { x: middle + 34, y: top + 1 },
  ];
  return { type, points, label: { x: middle, y: top + depth } };
}

/** A smooth line through the points that dagre gives. */
export function tellPath(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x},${first.y}`;
  for (let at = 0; at < rest.length; at += 1) {
    const point = rest[at];
    const next = rest[at + 1];
    if (!point) continue;
    if (next) path += `Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`;
    else path += `L${point.x},${point.y}`;
  }
  return path;
}

export function tellType(type: PropertyType): string {
  const values = type.enum ?? type.values;
  const base = type.vector ? `Vector(${type.vector})` : values ? `enum(${values.join(", ")})` : type.scalar;
  return `${type.is_list ? `[${base}]` : base}${type.nullable ? "?" : ""}`;
}

/** The rules of a type, each in the words of the schema language. */
export function tellRules(type: NodeType): string[] {
  const rules: string[] = [];
  if (type.key?.length) rules.push(`@key(${type.key.join(", ")})`);
  for (const names of type.uniques ?? []) rules.push(`@unique(${names.join(", ")})`);
  for (const range of type.ranges ?? []) rules.push(`@range(${range.property}, ${range.low ?? ""}..${range.high ?? ""})`);
  for (const names of type.indexes ?? []) if (names.join() !== type.key?.join()) rules.push(`@index(${names.join(", ")})`);
  return rules;
}

export function tellCardinality(type: EdgeType): string | null {
  const [low, high] = type.cardinality ?? [0, null];
  return low === 0 && high === null ? null : `${low}..${high ?? ""}`;
}
