/** The difference of two texts by word: what stays, what went, what came. */

export interface Piece {
  op: "same" | "gone" | "new";
  text: string;
}

const MOST_CELLS = 1_500_000;

export function compareWords(before: string, after: string): Piece[] {
  const left = splitWords(before);
  const right = splitWords(after);
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const middle = compareMiddle(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return join([
    { op: "same", text: left.slice(0, start).join("") },
    ...middle,
    { op: "same", text: left.slice(left.length - end).join("") },
  ]);
}

function splitWords(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** The longest common subsequence; texts that differ too much are told whole. */
function compareMiddle(left: string[], right: string[]): Piece[] {
  if (left.length * right.length > MOST_CELLS) {
    return [
      { op: "gone", text: left.join("") },
      { op: "new", text: right.join("") },
    ];
  }
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      lengths[at] =
        left[i] === right[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      pieces.push({ op: "same", text: left[i] ?? "" });
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))) {
      pieces.push({ op: "gone", text: left[i] ?? "" });
      i += 1;
    } else {
      pieces.push({ op: "new", text: right[j] ?? "" });
      j += 1;
    }
  }
  return pieces;
}

/** Join neighbours of one kind, and what went before what came between two words that stay. */
function join(pieces: Piece[]): Piece[] {
  const joined: Piece[] = [];
  let gone = "";
  let fresh = "";
  const flush = () => {
    if (gone) joined.push({ op: "gone", text: gone });
    if (fresh) joined.push({ op: "new", text: fresh });
    gone = "";
    fresh = "";
  };
  for (const piece of pieces) {
    if (!piece.text) continue;
    if (piece.op === "gone") gone += piece.text;
    else if (piece.op === "new") fresh += piece.text;
    else {
      flush();
      const last = joined.at(-1);
      if (last?.op === "same") last.text += piece.text;
      else joined.push({ ...piece });
    }
  }
  flush();
  return joined;
}
