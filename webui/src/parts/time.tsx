/** The branch and the moment that are looked at: a list of branches and tags, and a slider over their commits. */

import { useEffect, useMemo, useState } from "react";
import { useAsk } from "../api/ask";
import type { Commit, Tag } from "../api/shapes";
import { cutText, shortId, tellAge } from "../lib/formats";
import { writePlace } from "../lib/place";
import { useGraph } from "./graph_context";
import { useNavigation } from "./navigation";

const MOST = 500;

export function TimePicker() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const { client } = view.session;
  const commits = useAsk(`commits ${view.graph} ${view.branch} ${view.round}`, async (signal) => {
    const told = await client.listCommits({ graph: view.graph, branch: view.branch, limit: MOST }, { signal });
    return (told.commits as unknown as Commit[]).toReversed();
  });
  const tags = useAsk(`tags ${view.graph} ${view.round}`, async (signal) => {
    const told = await client.listTags({ graph: view.graph }, { signal });
    return told.tags as unknown as Tag[];
  });
  const list = useMemo(() => commits.value ?? [], [commits.value]);
  const named = tags.value?.find((tag) => tag.name === view.at)?.commit ?? view.at;
  const found = list.findIndex((commit) => commit.id === named);
  const position = view.at === null ? list.length - 1 : found;
  const [drawn, setDrawn] = useState<number | null>(null);
  useEffect(() => setDrawn(null), [view.at, view.branch]);
  const isAside = view.at !== null && commits.value !== undefined && tags.value !== undefined && found < 0;
  const aside = useAsk(isAside ? `commit ${view.graph} ${named}` : null, async (signal) => (await client.showCommit({ graph: view.graph, commit: named ?? "" }, { signal })) as unknown as Commit);
  const shown = drawn ?? (isAside ? 0 : Math.max(0, position));
  const commit = isAside && drawn === null ? aside.value : list[shown];

  const show = (params: Record<string, string | null>) => go(writePlace({ graph: view.graph, page: place.page, params: { ...place.params, ...params } }));
  const settle = (index: number) => {
    if (drawn === null) return;
    const chosen = list[index];
    if (chosen && (index !== position || isAside)) show({ at: index === list.length - 1 ? null : chosen.id });
  };

  return (
    <div className="time" role="group" aria-label="What is looked at">
      <label>
        <span className="hidden">Branch or tag</span>
        <select
          value={view.at !== null && tags.value?.some((tag) => tag.name === view.at) ? `tag:${view.at}` : `branch:${view.branch}`}
          onChange={(event) => {
            const [kind, ...rest] = event.target.value.split(":");
            const name = rest.join(":");
            show(kind === "tag" ? { at: name } : { branch: name === "main" ? null : name, at: null });
          }}
        >
          <optgroup label="Branches">
            {view.branches.map((name) => (
              <option key={name} value={`branch:${name}`}>
                {cutText(name, 60)}
              </option>
            ))}
          </optgroup>
          {tags.value && tags.value.length > 0 && (
            <optgroup label="Tags">
              {tags.value.map((tag) => (
                <option key={tag.name} value={`tag:${tag.name}`}>
                  {cutText(tag.name, 60)}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </label>
      {list.length > 1 && (
        <input
          type="range"
          min={0}
          max={list.length - 1}
          value={shown}
          aria-label="Commit"
          aria-valuetext={commit ? `version ${commit.version}, ${commit.message ?? commit.operation}` : undefined}
          onChange={(event) => setDrawn(Number(event.target.value))}
          onPointerUp={(event) => settle(Number(event.currentTarget.value))}
          onKeyUp={(event) => settle(Number(event.currentTarget.value))}
        />
      )}
      <span className="moment">
        {commit && (
          <>
            <code>{shortId(commit.id)}</code> <bdi className="clip">{commit.message ?? commit.operation}</bdi>
            <span className="quiet"> {tellAge(commit.created_at, Date.now())}</span>
          </>
        )}
      </span>
      {view.at !== null && (
        <button className="link" onClick={() => show({ at: null })}>
          Back to now
        </button>
      )}
    </div>
  );
}
