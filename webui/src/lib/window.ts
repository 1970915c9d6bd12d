/** Which rows of a long list are seen: rows of one height, and some more on either side. */

export interface Window {
  first: number;
  /** One after the last. */
  end: number;
}

const MORE = 12;

export function seeRows(count: number, height: number, scrolled: number, seen: number): Window {
  const first = Math.max(0, Math.min(Math.floor(scrolled / height) - MORE, count));
  const end = Math.min(count, Math.ceil((scrolled + seen) / height) + MORE);
  return { first, end: Math.max(first, end) };
}
