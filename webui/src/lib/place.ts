/** Where somebody is in the page: the address names a graph, a page of it, and what is looked at. */

export interface Place {
  graph: string | null;
  page: string;
  params: Record<string, string>;
}

const START = "/ui";

export function readPlace(path: string, search: string): Place {
  const [graph, page] = path.startsWith(`${START}/`) ? path.slice(START.length + 1).split("/") : [];
  return {
    graph: graph ? decode(graph) : null,
    page: page ? decode(page) : "schema",
    params: Object.fromEntries(new URLSearchParams(search)),
  };
}

export function writePlace(place: { graph: string | null; page?: string; params?: Record<string, string | null | undefined> }): string {
  if (place.graph === null) return "/";
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(place.params ?? {})) {
    if (value !== null && value !== undefined && value !== "") asked.set(name, value);
  }
  const text = asked.toString();
  return `${START}/${encodeURIComponent(place.graph)}/${place.page ?? "schema"}${text ? `?${text}` : ""}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
