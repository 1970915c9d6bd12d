/** Server-sent events, read from an answer: an EventSource cannot carry a token. */

export interface ServerEvent {
  id: number | null;
  name: string;
  data: string;
}

/** Split what has come so far into whole events and the rest. */
export function readEvents(text: string): { events: ServerEvent[]; rest: string } {
  const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const events: ServerEvent[] = [];
  for (const block of blocks) {
    const event: ServerEvent = { id: null, name: "message", data: "" };
    let hasData = false;
    for (const line of block.split("\n")) {
      if (line.startsWith(":")) continue;
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (field === "event") event.name = value;
      else if (field === "id") event.id = Number(value);
      else if (field === "data") {
        event.data = hasData ? `${event.data}\n${value}` : value;
        hasData = true;
      }
    }
    if (hasData) events.push(event);
  }
  return { events, rest };
}
