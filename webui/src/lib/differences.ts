/** Changes as a reviewer reads them: by type, then by entity, then by property. */

import type { Change, Image, Kind, Op, OpCounts, Value } from "../api/shapes";
import { isBlob, isVector } from "./formats";

export type Way = "words" | "vector" | "blob" | "value";

export interface PropertyChange {
  name: string;
  before: Value | undefined;
  after: Value | undefined;
  isChanged: boolean;
  way: Way;
}

export interface EntityDifference {
  key: string;
  kind: Kind;
  type: string;
  id: string;
  op: Op;
  ends: { from: string; to: string } | null;
  properties: PropertyChange[];
}

export interface TypeDifference {
  table: string;
  kind: Kind;
  type: string;
  counts: OpCounts;
  entities: EntityDifference[];
}

const LONG_TEXT = 30;

export function keyOf(kind: Kind | "schema", type: string, id: string): string {
  return `${kind}:${type}:${id}`;
}

/** Group changes by table; counts are the server's where it has told them, as a list may not be complete. */
export function groupChanges(changes: Change[], told: Record<string, OpCounts> | null): TypeDifference[] {
  const groups = new Map<string, TypeDifference>();
  const find = (table: string): TypeDifference => {
    const found = groups.get(table);
    if (found) return found;
    const [kind, ...rest] = table.split(":");
    const made: TypeDifference = {
      table,
      kind: kind as Kind,
      type: rest.join(":"),
      counts: told?.[table] ?? { insert: 0, update: 0, delete: 0 },
      entities: [],
    };
    groups.set(table, made);
    return made;
  };
  for (const table of Object.keys(told ?? {})) find(table);
  for (const change of changes) {
    const group = find(`${change.kind}:${change.type.name}`);
    if (!told?.[group.table]) group.counts[change.op] += 1;
    group.entities.push(describeChange(change));
  }
  return [...groups.values()]
    .filter((group) => group.counts.insert + group.counts.update + group.counts.delete > 0)
    .sort((a, b) => (a.kind === b.kind ? compareTexts(a.type, b.type) : a.kind === "node" ? -1 : 1));
}

export function describeChange(change: Change): EntityDifference {
  const ends = change.after?.endpoints ?? change.before?.endpoints ?? null;
  return {
    key: keyOf(change.kind, change.type.name, change.id),
    kind: change.kind,
    type: change.type.name,
    id: change.id,
    op: change.op,
    ends,
    properties: compareImages(change.before ?? null, change.after ?? null),
  };
}

/** Properties of both images, the changed ones first; those that are null on both sides say nothing. */
export function compareImages(before: Image | null, after: Image | null): PropertyChange[] {
  const names = new Set([...Object.keys(before?.properties ?? {}), ...Object.keys(after?.properties ?? {})]);
  const found: PropertyChange[] = [];
  for (const name of names) {
    const left = before?.properties[name];
    const right = after?.properties[name];
    if ((left ?? null) === null && (right ?? null) === null) continue;
    const isChanged = before !== null && after !== null ? !isSame(left, right) : true;
    found.push({ name, before: left, after: right, isChanged, way: chooseWay(left, right) });
  }
  return found.sort((a, b) => Number(b.isChanged) - Number(a.isChanged) || compareTexts(a.name, b.name));
}

export function chooseWay(before: Value | undefined, after: Value | undefined): Way {
  const present = [before, after].filter((value) => value !== undefined && value !== null);
  if (present.length > 0 && present.every((value) => isBlob(value))) return "blob";
  if (present.length > 0 && present.every((value) => isVector(value))) return "vector";
  if (typeof before === "string" && typeof after === "string" && Math.max(before.length, after.length) > LONG_TEXT) return "words";
  return "value";
}

export function isSame(left: Value | undefined, right: Value | undefined): boolean {
  if (left === right) return true;
  if ((left ?? null) === null || (right ?? null) === null) return (left ?? null) === (right ?? null);
  return canonical(left) === canonical(right);
}

export function sumCounts(counts: Record<string, OpCounts> | null): OpCounts {
  const total = { insert: 0, update: 0, delete: 0 };
  for (const each of Object.values(counts ?? {})) {
    total.insert += each.insert;
    total.update += each.update;
    total.delete += each.delete;
  }
  return total;
}

/** What a merge would do to all tables together. */
export function sumMerged(counts: Record<string, { inserted: number; updated: number; deleted: number }>): OpCounts {
  const total = { insert: 0, update: 0, delete: 0 };
  for (const each of Object.values(counts)) {
    total.insert += each.inserted;
    total.update += each.updated;
    total.delete += each.deleted;
  }
  return total;
}

/** The same text for the same value, whatever the order of its members. */
export function canonical(value: Value | undefined): string {
  return JSON.stringify(value, (_, item: Value) =>
    item !== null && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => compareTexts(a, b)))
      : item,
  );
}

export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
