/** What can be said of a query's text without the compiler: its words, parameters and variables. */

import type { Catalog, EdgeType, NodeType, Value } from "../api/shapes";

export interface Parameter {
  name: string;
  type: string;
  isOptional: boolean;
}

export interface Declared {
  name: string;
  from: number;
  to: number;
  parameters: Parameter[];
  isMutation: boolean;
}

const CLAUSES = ["match", "return", "order", "limit", "skip", "having", "with", "optional", "not", "exists", "union", "distinct", "shortest", "insert", "upsert", "update", "delete", "set", "where", "and", "or", "in", "is", "as", "asc", "desc", "contains", "starts_with", "case", "when", "then", "else", "end", "query", "true", "false", "null", "path"];
export const WORDS: ReadonlySet<string> = new Set(CLAUSES);
export const FUNCTIONS = ["count", "sum", "avg", "min", "max", "collect", "entity", "nearest", "search", "fuzzy", "match_text", "bm25", "rrf", "now", "date", "datetime", "nodes", "edges", "length"];
export const SCALARS = ["String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date", "Vector"];

/** The text with comments and strings blanked out, so that places stay and braces count. */
export function blankText(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?/g, (found) => found.replace(/[^\n]/g, " "));
}

/** The queries that a text declares, each with its place. */
export function findQueries(text: string): Declared[] {
  const blank = blankText(text);
  const starts = [...blank.matchAll(/\bquery\s+([a-z_][A-Za-z0-9_]*)\s*\(([^)]*)\)/g)];
  return starts.map((found, at) => {
    const from = found.index;
    const to = starts[at + 1]?.index ?? text.length;
    return {
      name: found[1] ?? "",
      from,
      to,
      parameters: readParameters(found[2] ?? ""),
      isMutation: /\b(insert|upsert|update|delete)\s+([A-Z$])/.test(blank.slice(from, to)),
    };
  });
}

function readParameters(text: string): Parameter[] {
  return [...text.matchAll(/\$([a-z_][A-Za-z0-9_]*)\s*:\s*([^,?$]+?)\s*(\?)?\s*(?=,|$)/g)].map((found) => ({
    name: found[1] ?? "",
    type: (found[2] ?? "").trim(),
    isOptional: found[3] === "?",
  }));
}

/** The query that the cursor is in, or else the first. */
export function findQueryAt(queries: Declared[], position: number): Declared | null {
  return queries.find((query) => position >= query.from && position < query.to) ?? queries.at(-1) ?? null;
}

/** What a field of the form means to the server; raises a sentence where it means nothing. */
export function readField(parameter: Parameter, text: string): Value | undefined {
  if (text === "") {
    if (parameter.isOptional) return null;
    return parameter.type === "String" ? "" : undefined;
  }
  const type = parameter.type;
  if (type === "String" || type === "Date" || type === "DateTime" || type === "Blob") return text;
  if (type === "Bool") {
    if (text === "true" || text === "false") return text === "true";
    throw new Error(`$${parameter.name} is true or false`);
  }
  if (/^[IU](32|64)$/.test(type)) {
    if (!/^-?\d+$/.test(text.trim())) throw new Error(`$${parameter.name} is a whole number`);
    const number = Number(text);
    return Number.isSafeInteger(number) ? number : text.trim();
  }
  if (/^F(32|64)$/.test(type)) {
    const number = Number(text);
    if (text.trim() === "" || !Number.isFinite(number)) throw new Error(`$${parameter.name} is a number`);
    return number;
  }
  try {
    return JSON.parse(text) as Value;
  } catch {
    throw new Error(`$${parameter.name} is a list: write it as JSON, such as ["a", "b"]`);
  }
}

/** The type of each variable that a match binds to nodes, by name; ends of traversals get theirs from the edge. */
export function findBindings(text: string, catalog: Catalog): Record<string, string> {
  const blank = blankText(text);
  const found: Record<string, string> = {};
  for (const [, name, type] of blank.matchAll(/\$([a-z_][A-Za-z0-9_]*)\s*:\s*([A-Z][A-Za-z0-9_]*)/g)) {
    if (name && type && catalog.nodes.some((node) => node.name === type)) found[name] = type;
  }
  const traversal = /\$([a-z_][A-Za-z0-9_]*)\s+(?:\$[a-z_]\w*\s*:\s*)?<?\s*([a-z_]\w*)\s*>?\s*(?:\{[^}]*\}\s*)?\$([a-z_]\w*)/g;
  const steps = [...blank.matchAll(traversal)];
  for (let round = 0; round < steps.length + 1; round += 1) {
    for (const [, from, edge, to] of steps) {
      const declared = catalog.edges.find((item) => item.name.toLowerCase() === edge?.toLowerCase());
      if (!declared || !from || !to) continue;
      const isBackwards = found[from] !== undefined && found[from] !== declared.source && found[from] === declared.target;
      found[from] ??= isBackwards ? declared.target : declared.source;
      found[to] ??= isBackwards ? declared.source : declared.target;
    }
  }
  return found;
}

export interface Offer {
  label: string;
  kind: "type" | "edge" | "property" | "variable" | "keyword" | "function";
  detail?: string;
}

/** What may stand at a place: properties after `$p.`, types after `:`, edges after a variable, or words. */
export function offerWords(before: string, whole: string, catalog: Catalog): { from: number; offers: Offer[] } | null {
  const blank = blankText(before);
  if (blank.length !== before.length || (before.endsWith('"') && !blank.endsWith(" "))) return null;
  const property = /\$([a-z_]\w*)\s*\.\s*([A-Za-z_]\w*)?$/.exec(blank);
  if (property) {
    const type = findBindings(whole, catalog)[property[1] ?? ""];
    const edge = new RegExp(`\\$${property[1]}\\s*:\\s*<?\\s*([a-z_]\\w*)`).exec(blankText(whole))?.[1];
    const owners = [...catalog.nodes.filter((node) => node.name === type), ...catalog.edges.filter((item) => item.name.toLowerCase() === edge?.toLowerCase())];
    const known = owners.length > 0 ? owners : catalog.nodes;
    const names = new Map(known.flatMap((owner) => owner.properties.map((item) => [item.name, owner.name] as const)));
    return place(before, property[2], [...names].map(([label, owner]) => ({ label, kind: "property", detail: owner })));
  }
  const typed = /:\s*([A-Z]\w*)?$/.exec(blank);
  if (typed) {
    const inHead = /\bquery\s+\w*\s*\([^)]*$/.test(blank);
    const names: Offer[] = inHead
      ? SCALARS.map((label) => ({ label, kind: "type" as const }))
      : [...catalog.nodes, ...(catalog.interfaces ?? [])].map((node) => ({ label: node.name, kind: "type" as const }));
    return place(before, typed[1], names);
  }
  const edge = /\$[a-z_]\w*\s+<?\s*([a-z_]\w*)?$/.exec(blank);
  if (edge) {
    const names = catalog.edges.map((item) => ({ label: item.name.charAt(0).toLowerCase() + item.name.slice(1), kind: "edge" as const, detail: `${item.source} → ${item.target}` }));
    return place(before, edge[1], names);
  }
  const variable = /\$([a-z_]\w*)?$/.exec(blank);
  if (variable) {
    const names = new Set([...blankText(whole).matchAll(/\$([a-z_]\w*)/g)].map((found) => found[1] ?? ""));
    names.delete(variable[1] ?? "");
    return place(before, variable[1], [...names].filter(Boolean).map((label) => ({ label, kind: "variable" })));
  }
  const mutated = /\b(?:insert|upsert|update|delete)\s+([A-Z]\w*)?$/.exec(blank);
  if (mutated) {
    return place(before, mutated[1], [...catalog.nodes, ...catalog.edges].map((item) => ({ label: item.name, kind: "type" })));
  }
  const word = /[A-Za-z_]\w*$/.exec(blank);
  if (!word) return null;
  return place(before, word[0], [
    ...CLAUSES.map((label) => ({ label, kind: "keyword" as const })),
    ...FUNCTIONS.map((label) => ({ label, kind: "function" as const })),
    ...[...catalog.nodes].map((node) => ({ label: node.name, kind: "type" as const })),
  ]);
}

function place(before: string, begun: string | undefined, offers: Offer[]): { from: number; offers: Offer[] } {
  return { from: before.length - (begun?.length ?? 0), offers };
}

/** A query that shows some of a type. */
export function sampleQuery(type: NodeType, edge: EdgeType | null): string {
  if (!edge) return `query some() {\n  match { $n: ${type.name} }\n  return { entity($n) }\n  limit 50\n}`;
  const name = edge.name.charAt(0).toLowerCase() + edge.name.slice(1);
  return `query some() {\n  match {\n    $a: ${edge.source}\n    $a $e:${name} $b\n  }\n  return { entity($a), entity($e), entity($b) }\n  limit 50\n}`;
}
