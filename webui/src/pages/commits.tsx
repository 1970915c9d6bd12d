/** The commits of all branches as a graph: who, when, what for, and what came from where. */

import { useMemo, useRef, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import type { BranchInfo, Commit, Tag } from "../api/shapes";
import { cutText, shortId, tellAge } from "../lib/formats";
import { joinHistories, layLanes, readHistories, type CommitPage, type Lanes } from "../lib/lanes";
import { useGraph } from "../parts/graph_context";
import { Link } from "../parts/navigation";
import { Empty, Failure, When } from "../parts/states";
import { useWindow } from "../parts/windowed";

const ROW = 56;
const LANE = 18;
const MOST_LANES = 12;
const MOST_BRANCHES = 24;

export default function CommitsPage() {
  const view = useGraph();
  const { client } = view.session;
  const [limit, setLimit] = useState(100);
  const [only, setOnly] = useState<string>("");
  const [hasCare, setCare] = useState(false);
  const branches = useMemo(() => (only ? [only] : view.branches.slice(0, MOST_BRANCHES)), [only, view.branches]);
  const asked = useAsk(`history ${view.graph} ${branches.join("\n")} ${limit} ${view.round}`, async (signal) => {
    const list = async (branch: string, most: number, pageToken: string | null) => (await client.listCommits({ graph: view.graph, branch, limit: most, pageToken }, { signal })) as unknown as CommitPage;
    const [infos, found, tags] = await Promise.all([
      Promise.all(branches.map(async (name) => (await client.describeBranch({ graph: view.graph, name }, { signal })) as unknown as BranchInfo)),
      readHistories(branches, limit, list),
      client.listTags({ graph: view.graph }, { signal }),
    ]);
    return { infos, ...found, tags: tags.tags as unknown as Tag[] };
  });
  return (
    <>
      <div className="head">
        <h1>Commits</h1>
        <span className="space" />
        <label>
          <input type="checkbox" checked={hasCare} onChange={(event) => setCare(event.target.checked)} />
          maintenance too
        </label>
        <label>
          <span className="hidden">Branch</span>
          <select value={only} onChange={(event) => setOnly(event.target.value)}>
            <option value="">All branches</option>
            {view.branches.map((name) => (
              <option key={name} value={name}>
                {cutText(name, 60)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {!only && view.branches.length > MOST_BRANCHES && <p className="quiet">The first {MOST_BRANCHES} of {view.branches.length} branches.</p>}
      <NewBranch />
      <When asked={asked} what="the history">
        {(found) => (
          <>
            <History histories={found.histories} infos={found.infos} tags={found.tags} hasCare={hasCare} />
            {found.hasMore && (
              <button onClick={() => setLimit(limit * 3)}>Older commits</button>
            )}
          </>
        )}
      </When>
    </>
  );
}

function NewBranch() {
  const view = useGraph();
  const [name, setName] = useState("");
  const [from, setFrom] = useState("main");
  const doing = useDoing();
  if (view.isReadOnly) return null;
  return (
    <>
      <form
        className="picker"
        onSubmit={(event) => {
          event.preventDefault();
          doing.run(async () => {
            await view.session.client.createBranch({ graph: view.graph, body: { name, from } });
            setName("");
            view.refresh();
          });
        }}
      >
        <label className="field">
          <span className="quiet small">New branch</span>
          <input value={name} placeholder="agent/tidy-up" onChange={(event) => setName(event.target.value)} />
        </label>
        <label className="field">
          <span className="quiet small">from</span>
          <select value={from} onChange={(event) => setFrom(event.target.value)}>
            {view.branches.map((branch) => (
              <option key={branch} value={branch}>
                {cutText(branch, 60)}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={name === "" || doing.isBusy}>
          Create
        </button>
      </form>
      {doing.error !== undefined && <Failure error={doing.error} />}
    </>
  );
}

function History({ histories, infos, tags, hasCare }: { histories: Commit[][]; infos: BranchInfo[]; tags: Tag[]; hasCare: boolean }) {
  const lanes = useMemo(() => {
    const main = infos.find((info) => info.name === "main")?.head ?? null;
    return layLanes(joinHistories(histories), main);
  }, [histories, infos]);
  const shown = useMemo(() => (hasCare ? lanes : withoutCare(lanes, infos)), [lanes, hasCare, infos]);
  const list = useRef<HTMLDivElement>(null);
  const seen = useWindow(list, shown.commits.length, ROW);
  const width = Math.min(shown.lanes, MOST_LANES) * LANE + 14;
  if (shown.commits.length === 0) return <Empty title="No commits yet" />;
  return (
    <div className="scroll commits" ref={list} tabIndex={0} role="region" aria-label="Commits of all branches">
      <ol className="inner" ref={(element) => { if (element) element.style.height = `${shown.commits.length * ROW}px`; }}>
        <LaneDrawing lanes={shown} width={width} from={seen.first - 1} to={seen.end} />
        {shown.commits.slice(seen.first, seen.end).map(({ commit, row }) => {
          return (
            <li key={commit.id} ref={(element) => { if (element) { element.style.top = `${row * ROW}px`; element.style.paddingInlineStart = `${width}px`; } }}>
              <div className="about">
                <div>
                  <Link className="clip" page="commit" params={{ id: commit.id }}>
                    <bdi>{cutText(commit.message ?? commit.operation, 140)}</bdi>
                  </Link>
                  {infos.filter((info) => info.head === commit.id).map((info) => (
                    <Link key={info.name} className="chip accent" page="schema" params={{ branch: info.name === "main" ? null : info.name }}>
                      <bdi>{cutText(info.name, 40)}</bdi>
                    </Link>
                  ))}
                  {tags.filter((tag) => tag.commit === commit.id).map((tag) => (
                    <span key={tag.name} className="chip">
                      <bdi>⌂ {cutText(tag.name, 40)}</bdi>
                    </span>
                  ))}
                </div>
                <div className="under">
                  <bdi className="clip">{cutText(commit.actor ?? "nobody", 40)}</bdi>
                  <span>{tellAge(commit.created_at, Date.now())}</span>
                  <code>{shortId(commit.id)}</code>
                  <span className="clip">
                    <bdi>{Object.entries(commit.metadata).map(([name, value]) => `${name}: ${value}`).join(" · ").slice(0, 120)}</bdi>
                  </span>
                </div>
              </div>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Maintenance changes nothing that a reader sees: its commits are left out, and lines go past them. */
function withoutCare(lanes: Lanes, infos: BranchInfo[]): Lanes {
  const heads = new Set(infos.map((info) => info.head));
  const hidden = new Map(lanes.commits.filter(({ commit }) => commit.maintenance && !heads.has(commit.id)).map(({ commit }) => [commit.id, commit]));
  if (hidden.size === 0) return lanes;
  const skip = (id: string): string => {
    const found = hidden.get(id);
    return found?.parent ? skip(found.parent) : id;
  };
  const commits = lanes.commits.filter(({ commit }) => !hidden.has(commit.id)).map((placed, row) => ({ ...placed, row }));
  const known = new Set(commits.map(({ commit }) => commit.id));
  const links = lanes.links.filter((link) => known.has(link.from)).map((link) => ({ ...link, to: skip(link.to) })).filter((link) => known.has(link.to));
  return { commits, links, lanes: lanes.lanes };
}

function LaneDrawing({ lanes, width, from, to }: { lanes: Lanes; width: number; from: number; to: number }) {
  const places = useMemo(() => new Map(lanes.commits.map((placed) => [placed.commit.id, placed])), [lanes]);
  const x = (lane: number) => Math.min(lane, MOST_LANES - 1) * LANE + 14;
  const y = (row: number) => row * ROW + ROW / 2;
  const links = lanes.links.filter((link) => (places.get(link.from)?.row ?? 0) <= to && (places.get(link.to)?.row ?? 0) >= from);
  return (
    <svg className="lanes" width={width} height={lanes.commits.length * ROW} aria-hidden="true">
      {links.map((link) => {
        const child = places.get(link.from);
        const parent = places.get(link.to);
        if (!child || !parent) return null;
        const [x1, y1, x2, y2] = [x(child.lane), y(child.row), x(parent.lane), y(parent.row)];
        const lane = link.isMerge ? parent.lane : child.lane;
        const path = x1 === x2 ? `M${x1},${y1}V${y2}` : link.isMerge ? `M${x1},${y1}C${x2},${y1} ${x2},${y1} ${x2},${y1 + ROW / 2}V${y2}` : `M${x1},${y1}V${y2 - ROW / 2}C${x1},${y2} ${x1},${y2} ${x2},${y2}`;
        return <path key={`${link.from} ${link.to}`} className={`hue-${lane % 8}`} d={path} />;
      })}
      {lanes.commits.slice(Math.max(0, from), to + 1).map(({ commit, lane, row }) => (
        <circle key={commit.id} className={`hue-${lane % 8}`} cx={x(lane)} cy={y(row)} r={commit.merged_parent ? 6.5 : 5.5} />
      ))}
    </svg>
  );
}
