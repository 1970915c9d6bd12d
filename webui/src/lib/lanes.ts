/** Where the commits of all branches stand in a drawing: a row each, newest first, and a lane for each line of them. */

import type { Commit } from "../api/shapes";

export interface LaneCommit {
  commit: Commit;
  row: number;
  lane: number;
}

export interface LaneLink {
  from: string;
  to: string;
  isMerge: boolean;
}

export interface Lanes {
  commits: LaneCommit[];
  links: LaneLink[];
  lanes: number;
}

export interface CommitPage {
  commits: Commit[];
  next_page_token: string | null;
}

/** What the server lists at once; and of a branch beside the first, which mostly meets that soon. */
const PAGE = 1_000;
const BESIDE = 50;

/** Read the newest commits of branches: the first whole, of the others what comes before they meet what is known. */
export async function readHistories(
  branches: string[],
  most: number,
  list: (branch: string, limit: number, pageToken: string | null) => Promise<CommitPage>,
): Promise<{ histories: Commit[][]; hasMore: boolean }> {
  const known = new Set<string>();
  let hasMore = false;
  const read = async (branch: string, step: number): Promise<Commit[]> => {
    const history: Commit[] = [];
    for (let token: string | null = null, isFirst = true; isFirst || token !== null; isFirst = false) {
      const page: CommitPage = await list(branch, Math.min(isFirst ? step : PAGE, most - history.length), token);
      history.push(...page.commits);
      const last = page.commits.at(-1);
      const hasMet = last === undefined || known.has(last.id);
      for (const commit of page.commits) known.add(commit.id);
      token = hasMet ? null : page.next_page_token;
      if (history.length >= most) {
        hasMore ||= token !== null;
        break;
      }
    }
    return history;
  };
  const [first, ...others] = branches;
  const histories = first === undefined ? [] : [await read(first, PAGE)];
  histories.push(...(await Promise.all(others.map((branch) => read(branch, BESIDE)))));
  return { histories, hasMore };
}

/** Join the histories of branches: each commit once, children before their parents, else newest first. */
export function joinHistories(histories: Commit[][]): Commit[] {
  const known = new Map<string, Commit>();
  for (const commit of histories.flat()) known.set(commit.id, commit);
  const children = new Map<string, number>();
  for (const commit of known.values()) {
    for (const parent of parentsOf(commit)) children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  const ready = [...known.values()].filter((commit) => !children.get(commit.id));
  const ordered: Commit[] = [];
  while (ready.length > 0) {
    ready.sort((a, b) => (a.created_at < b.created_at || (a.created_at === b.created_at && a.id < b.id) ? -1 : 1));
    const next = ready.pop();
    if (!next) break;
    ordered.push(next);
    for (const parent of parentsOf(next)) {
      const left = (children.get(parent) ?? 0) - 1;
      children.set(parent, left);
      const found = known.get(parent);
      if (left === 0 && found) ready.push(found);
    }
  }
  return ordered;
}

/** Give each commit a lane: a first parent goes on in its child's lane, and the first head has lane 0. */
export function layLanes(commits: Commit[], main: string | null): Lanes {
  const known = new Set(commits.map((commit) => commit.id));
  const waiting: (string | null)[] = main === null ? [] : [main];
  const placed: LaneCommit[] = [];
  const links: LaneLink[] = [];
  let lanes = 0;
  commits.forEach((commit, row) => {
    let lane = waiting.indexOf(commit.id);
    if (lane < 0) {
      lane = waiting.indexOf(null);
      if (lane < 0) lane = waiting.length;
    }
    waiting.forEach((expected, at) => {
      if (expected === commit.id) waiting[at] = null;
    });
    const [first, merged] = [commit.parent, commit.merged_parent];
    waiting[lane] = first !== null && known.has(first) ? first : null;
    if (merged !== null && known.has(merged) && !waiting.includes(merged)) {
      const free = waiting.findIndex((expected, at) => expected === null && at !== lane);
      if (free < 0) waiting.push(merged);
      else waiting[free] = merged;
    }
    lanes = Math.max(lanes, lane + 1, waiting.length);
    placed.push({ commit, row, lane });
    for (const parent of parentsOf(commit)) {
      if (known.has(parent)) links.push({ from: commit.id, to: parent, isMerge: parent === merged });
    }
  });
  return { commits: placed, links, lanes };
}

function parentsOf(commit: Commit): string[] {
  return [commit.parent, commit.merged_parent].filter((id): id is string => id !== null);
}
