/** The console: a query, its parameters, and its result as table, picture, JSON or plan. */

import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { callRoute, makeKey, OmniGraphError } from "../api/session";
import type { Diagnostic, EdgeRecord, Explanation, PlanStep, QueryResult, Schema, Value } from "../api/shapes";
import { cutText, shortId, tellBytes, tellCount, tellMilliseconds, tellNumber } from "../lib/formats";
import { addEdge, addRecords, cutPicture, emptyPicture, joinPictures, MOST_DRAWN, pictureOfRows, searchEdges, type Picture, type PictureNode } from "../lib/picture";
import { findBindings, findQueries, findQueryAt, readField, type Parameter } from "../lib/query_text";
import { EntityCard } from "../parts/entity_card";
import { target, useGraph } from "../parts/graph_context";
import { useNavigation } from "../parts/navigation";
import { PictureView } from "../parts/picture_view";
import { Empty, Failure, Loading } from "../parts/states";
import { ResultTable } from "../parts/table";
import { sampleQuery, useSchema } from "./schema";

const Editor = lazy(() => import("../parts/editor"));
const TABS = ["table", "picture", "json", "plan"] as const;
type Tab = (typeof TABS)[number];
const KEPT = "omnigraph.query.";

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
  const catalog = schema.value?.catalog ?? { nodes: [], edges: [] };
  const [text, setText] = useState(() => place.params.q ?? sessionStorage.getItem(KEPT + view.graph) ?? "");
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

  useEffect(() => {
    const first = schema.value?.catalog.nodes[0];
    if (text === "" && first && schema.value) setText(sampleQuery(first, null, schema.value));
  }, [schema.value]);
  useEffect(() => {
    if (text.length < 200_000) sessionStorage.setItem(KEPT + view.graph, text);
  }, [text, view.graph]);

  const queries = useMemo(() => findQueries(text), [text]);
  const query = findQueryAt(queries, cursor);
  const bindings = useMemo(() => (outcome ? findBindings(outcome.text, catalog) : {}), [outcome, catalog]);

  const ask = (how: "run" | "plan") => {
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
                if (found) setText(found.text);
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
            text={text}
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
          <button className="primary" disabled={doing.isBusy || text.trim() === "" || (query?.isMutation && (view.at !== null || view.isReadOnly))} onClick={() => ask("run")}>
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
                <Shown tab={tab} result={outcome.result} bindings={bindings} catalog={catalog} />
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
  const asked = useAsk(`queries ${view.graph} ${view.branch} ${view.round}`, async () => {
    try {
      const told = await callRoute<{ queries?: Stored[] }>(view.session, "GET", `/graphs/${encodeURIComponent(view.graph)}/queries?texts=true`);
      return (told.queries ?? []).filter((item) => typeof item.text === "string");
    } catch {
      return [];
    }
  });
  return asked.value ?? [];
}

function readFields(parameters: Parameter[], fields: Record<string, string>): Record<string, Value> {
  const params: Record<string, Value> = {};
  for (const parameter of parameters) {
    const value = readField(parameter, fields[parameter.name] ?? "");
    if (value !== undefined && value !== null) params[parameter.name] = value;
  }
  return params;
}

function ParameterField({ parameter, text, change }: { parameter: Parameter; text: string; change: (text: string) => void }) {
  const label = `$${parameter.name}`;
  return (
    <label className="field">
      <span>
        {label} <code className="quiet">{parameter.type + (parameter.isOptional ? "?" : "")}</code>
      </span>
      {parameter.type === "Bool" ? (
        <select value={text} onChange={(event) => change(event.target.value)}>
          <option value="">{parameter.isOptional ? "null" : "choose"}</option>
          <option>true</option>
          <option>false</option>
        </select>
      ) : (
        <input
          value={text}
          type={parameter.type === "Date" ? "date" : "text"}
          inputMode={/^[IUF]\d/.test(parameter.type) ? "decimal" : undefined}
          placeholder={parameter.isOptional ? "null" : parameter.type.startsWith("[") || parameter.type.startsWith("Vector") ? "[ … ]" : ""}
          onChange={(event) => change(event.target.value)}
        />
      )}
    </label>
  );
}

function Shown({ tab, result, bindings, catalog }: { tab: Tab; result: QueryResult; bindings: Record<string, string>; catalog: Schema["catalog"] }) {
  if (result.row_count === 0) return <Empty title="No rows">Nothing in the graph fits the pattern.</Empty>;
  if (tab === "json") return <Json result={result} />;
  if (tab === "picture") return <ResultPicture result={result} bindings={bindings} catalog={catalog} />;
  return <ResultTable columns={result.columns} rows={result.rows} bindings={pickColumns(result, bindings)} />;
}

/** Columns that hold the ids of bound nodes, and not a property that happens to have the variable's name. */
function pickColumns(result: QueryResult, bindings: Record<string, string>): Record<string, string> {
  const names = result.columns.filter((column) => bindings[column.name] && column.type.startsWith("String")).map((column) => column.name);
  return Object.fromEntries(names.map((name) => [name, bindings[name] ?? ""]));
}

const MOST_TEXT = 500;

function Json({ result }: { result: QueryResult }) {
  const text = useMemo(() => JSON.stringify(result.rows.slice(0, MOST_TEXT), null, 2), [result]);
  return (
    <>
      <pre className="panel source" tabIndex={0}>
        <bdi>{text.slice(0, 1_000_000)}</bdi>
      </pre>
      {result.row_count > MOST_TEXT && <p className="quiet">The first {MOST_TEXT} of {tellNumber(result.row_count)} rows.</p>}
    </>
  );
}

const EDGES_AT_ONCE = 50;
const MOST_UNASKED = MOST_DRAWN / 4;

function ResultPicture({ result, bindings, catalog }: { result: QueryResult; bindings: Record<string, string>; catalog: Schema["catalog"] }) {
  const view = useGraph();
  const where = { snapshot: result.graph_commit_id };
  const first = useMemo(() => pictureOfRows(result.rows, catalog, pickColumns(result, bindings)), [result, catalog, bindings]);
  const [grown, setGrown] = useState<Picture>(emptyPicture);
  const [chosen, setChosen] = useState<PictureNode | null>(null);
  const [isAllowed, setAllowed] = useState(false);
  const [note, setNote] = useState("");
  const doing = useDoing();
  const picture = useMemo(() => joinPictures(first, grown), [first, grown]);
  useEffect(() => {
    setGrown(emptyPicture());
    setChosen(null);
    setAllowed(false);
  }, [first]);
  const isDrawn = first.nodes.size > 0 && (first.nodes.size <= MOST_UNASKED || isAllowed);
  useEffect(() => {
    if (!isDrawn || first.nodes.size < 2 || first.edges.size > 0) return undefined;
    const stop = new AbortController();
    const connect = async () => {
      const more = emptyPicture();
      for (const { type, query, params } of searchEdges(cutPicture(first), catalog)) {
        const answer = await view.session.client.runQuery({ graph: view.graph, accept: "application/json", body: { query, params, ...where } }, { signal: stop.signal });
        for (const row of ((await answer.json()) as QueryResult).rows) addEdge(more, catalog, type, String(row.id), String(row.source), String(row.target), null);
      }
      setGrown((old) => joinPictures(old, more));
    };
    connect().catch(() => stop.signal.aborted || setNote("The edges between these nodes could not be read."));
    return () => stop.abort();
  }, [first, isDrawn]);

  if (first.nodes.size === 0) {
    return (
      <Empty title="There is nothing to draw in these rows">
        Return whole nodes or edges: <code>{"return { entity($p) }"}</code>
      </Empty>
    );
  }
  if (!isDrawn) {
    return (
      <Empty title={`${tellCount(first.nodes.size, "node")} and ${tellCount(first.edges.size, "edge")}`}>
        <p>A picture of so many shows little.{first.nodes.size > MOST_DRAWN && ` At most ${tellNumber(MOST_DRAWN)} are drawn.`}</p>
        <button onClick={() => setAllowed(true)}>Draw {tellNumber(Math.min(first.nodes.size, MOST_DRAWN))} of them</button>
      </Empty>
    );
  }
  const expand = (node: PictureNode | null) => {
    setChosen(node);
    setNote("");
    if (!node) return;
    doing.run(async () => {
      const told = await view.session.client.listEdges({ graph: view.graph, type: node.type, id: node.id, limit: EDGES_AT_ONCE, ...where });
      const records = told.edges as unknown as EdgeRecord[];
      const more = emptyPicture();
      addRecords(more, catalog, records, null);
      setGrown((old) => joinPictures(old, more));
      if (records.length === EDGES_AT_ONCE) setNote(`The first ${EDGES_AT_ONCE} edges of ${node.label} are drawn.`);
    });
  };
  return (
    <>
      <div className="split">
        <PictureView picture={picture} chosen={chosen?.key ?? null} choose={expand} />
        {chosen && <EntityCard key={chosen.key} node={chosen} where={where} close={() => setChosen(null)} />}
      </div>
      {note && <p className="quiet">{note}</p>}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </>
  );
}

function Plan({ plan }: { plan: Explanation }) {
  const { explanation } = plan;
  const most = Math.max(0.001, ...flatten(explanation.tree).map((step) => step.milliseconds ?? 0));
  return (
    <div className="panel">
      <p className="quiet">
        {explanation.rows !== null && `${tellCount(explanation.rows, "row")} `}
        {explanation.milliseconds !== null && `in ${tellMilliseconds(explanation.milliseconds)} `}
        {explanation.choice && `on ${explanation.choice.engine}: ${explanation.choice.reason}`}
      </p>
      <ol className="plan">
        {explanation.tree.map((step, at) => (
          <Step key={at} step={step} most={most} />
        ))}
      </ol>
    </div>
  );
}

function flatten(steps: PlanStep[]): PlanStep[] {
  return steps.flatMap((step) => [step, ...flatten(step.children)]);
}

function Step({ step, most }: { step: PlanStep; most: number }) {
  return (
    <li>
      <div className="step">
        <span className="what">
          <bdi>{step.text}</bdi>
          {step.path && (
            <span className="quiet">
              {" "}
              {step.path}
              {step.why && `: ${step.why}`}
            </span>
          )}
        </span>
        <span className="numbers">
          {step.rows !== null && tellCount(step.rows, "row")}
          {step.estimated_rows !== null && <span className="quiet"> (about {tellNumber(Math.round(step.estimated_rows))})</span>}
        </span>
        <span className="numbers">
          {step.milliseconds !== null && (
            <>
              <meter min={0} max={most} value={step.milliseconds} aria-label={`Time of ${step.text}`} />
              {tellMilliseconds(step.milliseconds)}
            </>
          )}
          {step.bytes > 0 && <span className="quiet"> {tellBytes(step.bytes)}</span>}
        </span>
      </div>
      {step.children.length > 0 && (
        <ol>
          {step.children.map((child, at) => (
            <Step key={at} step={child} most={most} />
          ))}
        </ol>
      )}
    </li>
  );
}
