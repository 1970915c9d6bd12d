/** How values, times and sizes are said. Everything is text: nothing here makes markup. */

import type { Value } from "../api/shapes";

const LONG = 400;

export function tellNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** A noun after its number, in the form that it asks for. */
export function tellCount(count: number, one: string, many: string = `${one}s`): string {
  return `${tellNumber(count)} ${count === 1 ? one : many}`;
}

export function tellBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let size = bytes;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return at === 0 ? tellCount(bytes, "byte") : `${size.toFixed(size < 10 ? 1 : 0)} ${units[at]}`;
}

export function tellMilliseconds(value: number): string {
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

export function tellAge(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (!Number.isFinite(seconds)) return at;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 86_400 * 30) return tellCount(Math.floor(seconds / 86_400), "day") + " ago";
  return at.slice(0, 10);
}

export function isVector(value: Value | undefined): value is number[] {
  return Array.isArray(value) && value.length > 2 && value.every((item) => typeof item === "number");
}

export function isBlob(value: Value | undefined): value is string {
  return typeof value === "string" && value.startsWith("base64:");
}

export function sizeOfBlob(value: string): number {
  const text = value.slice("base64:".length);
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, (text.length * 3) / 4 - padding);
}

/** A value in one line; what is long is cut, and says how long it is. */
export function tellValue(value: Value | undefined, most: number = LONG): string {
  if (value === undefined || value === null) return "null";
  if (isBlob(value)) return `blob, ${tellBytes(sizeOfBlob(value))}`;
  if (isVector(value)) return tellVector(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return cutText(text, most);
}

export function cutText(text: string, most: number): string {
  const letters = text.length > most * 2 ? [...text.slice(0, most * 2)] : [...text];
  if (letters.length <= most && text.length <= most * 2) return text;
  return `${letters.slice(0, most).join("")}… (${tellNumber(text.length)} characters)`;
}

/** A name in a drawing: what has no room ends with an ellipsis. */
export function clipText(text: string, most: number): string {
  const letters = [...text.slice(0, most * 2)];
  return letters.length <= most && text.length <= most * 2 ? text : `${letters.slice(0, most - 1).join("")}…`;
}

function tellVector(value: number[]): string {
  const shown = value.slice(0, 4).map((item) => Number(item.toPrecision(4)).toString());
  return `[${shown.join(", ")}${value.length > 4 ? `, … ${value.length} numbers` : ""}]`;
}

/** How far two vectors are apart: 1 − cosine, as the engine's `nearest` measures it. */
export function measureDistance(left: number[], right: number[]): number | null {
  if (left.length !== right.length) return null;
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  left.forEach((item, at) => {
    const other = right[at] ?? 0;
    product += item * other;
    leftSquares += item * item;
    rightSquares += other * other;
  });
  if (leftSquares === 0 || rightSquares === 0) return null;
  return Math.max(0, 1 - product / Math.sqrt(leftSquares * rightSquares));
}

export function shortId(commit: string): string {
  return commit.length === 26 ? commit.slice(-8).toLowerCase() : cutText(commit, 40);
}

/** The media type of an image by its first bytes: only formats that cannot carry scripts. */
export function imageType(bytes: Uint8Array): string | null {
  const starts = (...given: number[]) => given.every((byte, at) => bytes[at] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47)) return "image/png";
  if (starts(0xff, 0xd8, 0xff)) return "image/jpeg";
  if (starts(0x47, 0x49, 0x46, 0x38)) return "image/gif";
  if (starts(0x52, 0x49, 0x46, 0x46) && bytes[8] === 0x57 && bytes[9] === 0x45) return "image/webp";
  return null;
}
