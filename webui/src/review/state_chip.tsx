/** How a proposal stands, in a word. */

import type { Proposal } from "../api/shapes";

export function StateChip({ state }: { state: Proposal["state"] }) {
  return <span className={`chip ${{ open: "good", merged: "accent", closed: "" }[state]}`}>{state}</span>;
}
