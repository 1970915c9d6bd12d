/** Jobs: what runs, how far it is, and beginning maintenance. */

import { useEffect, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Job } from "../api/shapes";
import { readEvents } from "../lib/events";
import { tellAge, tellCount, tellMilliseconds, tellNumber } from "../lib/formats";
import { useGraph } from "../parts/graph_context";
import { Empty, Failure, When } from "../parts/states";

const CHIP: Record<Job["state"], string> = { queued: "wait", running: "accent", succeeded: "good", failed: "bad", cancelled: "" };
const AGAIN_MILLISECONDS = 2_000;
const BEGUN = [
  ["optimize", "Optimize", {}],
  ["repair", "Verify", {}],
  ["repair", "Scrub", { scrub: true }],
] as const;

export default function JobsPage() {
  const view = useGraph();
  const { client } = view.session;
  const [state, setState] = useState("");
  const [limit, setLimit] = useState(30);
  const jobs = useAsk(`jobs ${view.graph} ${state} ${limit}`, async (signal) => (await client.listJobs({ graph: view.graph, limit, state: (state || null) as Job["state"] | null }, { signal })) as unknown as { jobs: Job[]; next_page_token: string | null });
  const doing = useDoing();
  return (
    <>
      <div className="head">
        <h1>Jobs</h1>
        <span className="space" />
        <label>
          <span className="hidden">State</span>
          <select value={state} onChange={(event) => setState(event.target.value)}>
            <option value="">Every state</option>
            {Object.keys(CHIP).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {!view.isReadOnly && (
        <div className="actions">
          {BEGUN.map(([kind, label, body]) => (
            <button
              key={label}
              disabled={doing.isBusy}
              onClick={() =>
                doing.run(async () => {
                  await client.beginJob({ graph: view.graph, kind, idempotencyKey: makeKey(), body });
                  jobs.again();
                })
              }
            >
              {label}
            </button>
          ))}
          <span className="quiet small">Optimize builds indexes and joins fragments; Verify reads no data, Scrub all of it.</span>
        </div>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
      <When asked={jobs} what="jobs">
        {(found) =>
          found.jobs.length === 0 ? (
            <Empty title="No jobs">What takes long goes on here without its client: loads, exports, maintenance.</Empty>
          ) : (
            <>
              <ul className="stack tight">
                {found.jobs.map((job) => (
                  <JobRow key={job.id} job={job} />
                ))}
              </ul>
              {found.next_page_token !== null && <button onClick={() => setLimit(limit + 30)}>Older jobs</button>}
            </>
          )
        }
      </When>
    </>
  );
}

interface Progress {
  what: string;
  done: number;
  total: number | null;
}

function isFinal(job: Job): boolean {
  return job.state === "succeeded" || job.state === "failed" || job.state === "cancelled";
}

/** Follow a job until its end; where the stream breaks, begin after the last event. */
function useFollowed(given: Job): { job: Job; progress: Progress | null } {
  const view = useGraph();
  const [job, setJob] = useState(given);
  const [progress, setProgress] = useState<Progress | null>(null);
  useEffect(() => setJob(given), [given]);
  useEffect(() => {
    if (isFinal(given)) return undefined;
    const control = new AbortController();
    const { client } = view.session;
    const named = { graph: view.graph, id: given.id };
    let last = 0;
    const follow = async (): Promise<boolean> => {
      const answer = await client.followJob({ ...named, lastEventId: last || null }, { signal: control.signal });
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        const read = readEvents(rest + part.value);
        rest = read.rest;
        for (const event of read.events) {
          last = event.id ?? last;
          if (event.name === "progress") setProgress(JSON.parse(event.data) as Progress);
          if (event.name === "started") setJob((old) => ({ ...old, state: "running" }));
        }
      }
      const told = (await client.showJob(named, { signal: control.signal })) as unknown as Job;
      setJob(told);
      return isFinal(told);
    };
    const goOn = async () => {
      while (!control.signal.aborted && !(await follow().catch(() => false))) await new Promise((wake) => setTimeout(wake, AGAIN_MILLISECONDS));
    };
    void goOn();
    return () => control.abort();
  }, [given, view.graph]);
  return { job, progress };
}

function JobRow({ job: given }: { job: Job }) {
  const view = useGraph();
  const { job, progress } = useFollowed(given);
  const doing = useDoing();
  const seconds = job.started !== null && job.ended !== null ? (job.ended - job.started) / 1000 : null;
  return (
    <li>
      <details className="difference">
        <summary>
          <span className={`chip ${CHIP[job.state]}`} role="status">
            {job.state}
          </span>
          <span className="id">{job.kind}</span>
          <span className="quiet small">
            <bdi>{job.actor ?? "nobody"}</bdi> · {tellAge(new Date(job.created / 1000).toISOString(), Date.now())}
            {seconds !== null && ` · ${tellMilliseconds(seconds)}`}
            {job.attempts > 1 && ` · ${tellCount(job.attempts, "attempt")}`}
          </span>
          <span className="space" />
          {!isFinal(job) && (
            <button
              disabled={doing.isBusy || job.cancel_requested}
              onClick={(event) => {
                event.preventDefault();
                doing.run(async () => {
                  await view.session.client.cancelJob({ graph: view.graph, id: job.id });
                });
              }}
            >
              Cancel
            </button>
          )}
        </summary>
        {job.error && (
          <p className="nothing error">
            <bdi>{job.error.error.slice(0, 2000)}</bdi>
          </p>
        )}
        <pre className="source inset" tabIndex={0}>
          <bdi>{JSON.stringify({ asked: job.asked, result: job.result }, null, 2).slice(0, 100_000)}</bdi>
        </pre>
      </details>
      {!isFinal(job) && progress && (
        <p className="small quiet">
          <progress max={progress.total ?? undefined} value={progress.total ? progress.done : undefined} aria-label={`Progress of ${job.kind}`} />
          <bdi>{progress.what}</bdi>: {tellNumber(progress.done)}
          {progress.total !== null && ` of ${tellNumber(progress.total)}`}
        </p>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </li>
  );
}
