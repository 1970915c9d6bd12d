/** The console: a query, its parameters, and its result as table, picture, JSON or plan. */

import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { keep, makeKey, OmniGraphError } from "../api/session";
import type { Diagnostic, Explanation, QueryResult, Value } from "../api/shapes";
import { ParameterField, readFields } from "../console/parameters";
import { Plan } from "../console/plan";
import { Result } from "../console/result";
import { cutText, shortId, tellCount, tellMilliseconds } from "../lib/formats";
import { findBindings, findQueries, findQueryAt, sampleQuery } from "../lib/query_text";
import { NO_CATALOG, target, useGraph } from "../parts/graph_context";
import { useNavigation } from "../parts/navigation";
import { Failure, Loading } from "../parts/states";
import { useSchema } from "../parts/use_schema";

const Editor = lazy(() => import("../console/editor"));
const TABS = ["table", "picture", "json", "plan"] as const;
type Tab = (typeof TABS)[number];
const KEPT = "omnigraph.query.";
const MOST_KEPT = 200_000;

interface Outcome {
  text: string;
  result: QueryResult | null;
  done: Record<string, Value> | null;
  milliseconds: number;
}

interface Stored {
  name: string;
  text: string;
  description?: string | null;
}

export default function QueryPage() {
  const view = useGraph();
  const { place } = useNavigation();
  const schema = useSchema();
  const catalog = schema.value?.catalog ?? NO_CATALOG;
  const [put, setPut] = useState(() => ({ text: place.params.q ?? sessionStorage.getItem(KEPT + view.graph) ?? "" }));
  const [text, setText] = useState(put.text);
  const [cursor, setCursor] = useState(0);
  const [fields, setFields] = useState<Record<string, string>>({});
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [plan, setPlan] = useState<Explanation | null>(null);
  const [problems, setProblems] = useState<Diagnostic[]>([]);
  const [tab, setTab] = useState<Tab>("table");
  const [message, setMessage] = useState("");
  const doing = useDoing();
  const control = useRef<AbortController | null>(null);
  const stored = useStored();

  const replace = (next: string) => {
    setPut({ text: next });
    setText(next);
  };
  useEffect(() => {
    const first = schema.value?.catalog.nodes[0];
    if (text === "" && first && schema.value) replace(sampleQuery(first, null));
  }, [schema.value]);
  useEffect(() => {
    if (text.length < MOST_KEPT) keep(KEPT + view.graph, text);
  }, [text, view.graph]);

  const queries = useMemo(() => findQueries(text), [text]);
  const query = findQueryAt(queries, cursor);
  const bindings = useMemo(() => (outcome ? findBindings(outcome.text, catalog) : {}), [outcome, catalog]);

  const isRefused = query?.isMutation === true && (view.at !== null || view.isReadOnly);
  const ask = (how: "run" | "plan") => {
    // The keyboard runs a query too, also when the button cannot: what writes is sent once, and not into the past.
    if (text.trim() === "" || (how === "run" && isRefused) || (doing.isRunning.current && query?.isMutation)) return;
    doing.run(async () => {
      setProblems([]);
      const params = query ? readFields(query.parameters, fields) : {};
      const body = { query: text, name: query?.name ?? null, params, ...target(view) };
      control.current?.abort();
      control.current = new AbortController();
      const { signal } = control.current;
      const started = performance.now();
      try {
        if (how === "plan") {
          setPlan((await view.session.client.explainQuery({ graph: view.graph, body: { ...body, analyze: true } }, { signal })) as unknown as Explanation);
          setTab("plan");
        } else if (query?.isMutation) {
          const { branch } = view;
          const done = await view.session.client.runMutation({ graph: view.graph, idempotencyKey: makeKey(), body: { query: text, name: query.name, params, branch, message: message || null } }, { signal });
          setOutcome({ text, result: null, done: done as Record<string, Value>, milliseconds: performance.now() - started });
          setMessage("");
          view.refresh();
        } else {
          const answer = await view.session.client.runQuery({ graph: view.graph, accept: "application/json", body }, { signal });
          const result = (await answer.json()) as QueryResult;
          setOutcome({ text, result, done: null, milliseconds: performance.now() - started });
          setPlan(null);
          if (tab === "plan") setTab("table");
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof OmniGraphError) {
          const found = (error.details as unknown as { diagnostics?: Diagnostic[] }).diagnostics ?? [];
          setProblems(found.filter((item) => item.line > 0));
        }
        throw error;
      }
    });
  };

  return (
    <>
      <div className="head">
        <h1>Query</h1>
        {stored.length > 0 && (
          <label>
            <span className="hidden">Stored query</span>
            <select
              value=""
              onChange={(event) => {
                const found = stored.find((item) => item.name === event.target.value);
                if (found) replace(found.text);
              }}
            >
              <option value="">Stored queries …</option>
              {stored.map((item) => (
                <option key={item.name}>{item.name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <section className="panel console" aria-label="Query console">
        <Suspense fallback={<Loading what="the editor" />}>
          <Editor
            put={put}
            catalog={catalog}
            problems={problems}
            stored={stored}
            onChange={(next, position) => {
              setText(next);
              setCursor(position);
            }}
            onRun={() => ask("run")}
          />
        </Suspense>
        {query && query.parameters.length > 0 && (
          <fieldset className="parameters">
            <legend className="hidden">Parameters of {query.name}</legend>
            {query.parameters.map((parameter) => (
              <ParameterField key={parameter.name} parameter={parameter} text={fields[parameter.name] ?? ""} change={(value) => setFields({ ...fields, [parameter.name]: value })} />
            ))}
          </fieldset>
        )}
        <div className="actions">
          <button className="primary" disabled={doing.isBusy || text.trim() === "" || isRefused} onClick={() => ask("run")}>
            {query?.isMutation ? `Commit to ${cutText(view.branch, 24)}` : "Run"}
          </button>
          {query?.isMutation ? (
            <input className="grow" aria-label="Message of the commit" placeholder="Message of the commit" value={message} onChange={(event) => setMessage(event.target.value)} />
          ) : (
            <button disabled={doing.isBusy || text.trim() === ""} onClick={() => ask("plan")}>
              Explain
            </button>
          )}
          {doing.isBusy && (
            <button onClick={() => control.current?.abort()} className="plain">
              Stop
            </button>
          )}
          <span className="space" />
          <span className="quiet hint">{queries.length > 1 && query ? `${query.name} · ` : ""}Ctrl Enter runs it</span>
        </div>
      </section>
      {schema.error !== undefined && <Failure error={schema.error} again={schema.again} />}
      {query?.isMutation && view.at !== null && <p className="notice">An older state is looked at. Go back to now to change something.</p>}
      {doing.error !== undefined && <Failure error={doing.error} />}
      {doing.isBusy && <Loading what="the answer" />}
      {!doing.isBusy && doing.error === undefined && (outcome || plan) && (
        <section aria-label="Result">
          {outcome?.done ? (
            <p className="notice done" role="status">
              Committed <code>{shortId(String(outcome.done.commit ?? "nothing"))}</code>: {tellCount(Number(outcome.done.affected_nodes), "node")} and {tellCount(Number(outcome.done.affected_edges), "edge")} in {tellMilliseconds(outcome.milliseconds)}
            </p>
          ) : (
            <>
              <div className="head">
                <div className="tabs" role="group" aria-label="Show the result as">
                  {TABS.map((name) => (
                    <button key={name} aria-pressed={tab === name} disabled={(name === "plan" && !plan) || (name !== "plan" && !outcome)} onClick={() => setTab(name)}>
                      {name === "json" ? "JSON" : name.charAt(0).toUpperCase() + name.slice(1)}
                    </button>
                  ))}
                </div>
                <span className="space" />
                {outcome?.result && tab !== "plan" && (
                  <span className="quiet" role="status">
                    {tellCount(outcome.result.row_count, "row")} in {tellMilliseconds(outcome.milliseconds)} at <code>{shortId(outcome.result.graph_commit_id)}</code>
                  </span>
                )}
              </div>
              {tab === "plan" && plan ? (
                <Plan plan={plan} />
              ) : outcome?.result ? (
                <Result as={tab === "plan" ? "table" : tab} result={outcome.result} bindings={bindings} catalog={catalog} />
              ) : null}
            </>
          )}
        </section>
      )}
    </>
  );
}

function useStored(): Stored[] {
  const view = useGraph();
  const asked = useAsk(`queries ${view.graph} ${view.branch} ${view.at} ${view.round}`, async (signal) => {
    const told = await view.session.client.listQueries({ graph: view.graph, texts: true, ...target(view) }, { signal });
    return (told.queries as unknown as Stored[]).filter((item) => typeof item.text === "string");
  });
  return asked.value ?? [];
}
