/** The schema as a graph: types with their properties, rules and counts, and the edges between them. */

import { useEffect, useMemo, useRef, useState } from "react";
import { useAsk } from "../api/ask";
import type { EdgeType, NodeType, Schema, Snapshot } from "../api/shapes";
import { clipText, tellCount, tellNumber } from "../lib/formats";
import { sampleQuery } from "../lib/query_text";
import { HEAD, laySchema, MOST_LABEL, MOST_ROWS, ROW, tellCardinality, tellPath, tellRules, tellType, widthOf } from "../lib/schema_layout";
import { useGraph } from "../parts/graph_context";
import { Link } from "../parts/navigation";
import { useNarrow } from "../parts/narrow";
import { Empty, When } from "../parts/states";
import { useSchema } from "../parts/use_schema";

/** Where there are more types than this, one looks for them by name. */
const MANY = 20;

export default function SchemaPage() {
  const view = useGraph();
  const schema = useSchema();
  const snapshot = useAsk(`snapshot ${view.graph} ${view.branch} ${view.at} ${view.round}`, async (signal) => {
    const where = view.at === null ? { branch: view.branch } : { commit: view.at };
    return (await view.session.client.showSnapshot({ graph: view.graph, ...where }, { signal })) as unknown as Snapshot;
  });
  const rows = useMemo(() => new Map(snapshot.value?.datasets.map((table) => [table.key, table.rows])), [snapshot.value]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isText, setText] = useState(false);
  return (
    <>
      <div className="head">
        <h1>Schema</h1>
        {snapshot.value && (
          <p className="quiet">
            {tellCount(sum(rows, "node:"), "node")} and {tellCount(sum(rows, "edge:"), "edge")} at version {snapshot.value.version}
          </p>
        )}
        <span className="space" />
        <div className="tabs" role="group" aria-label="View">
          <button aria-pressed={!isText} onClick={() => setText(false)}>
            Graph
          </button>
          <button aria-pressed={isText} onClick={() => setText(true)}>
            Text
          </button>
        </div>
      </div>
      <When asked={schema} what="the schema">
        {(found) =>
          isText ? (
            <pre className="panel source" tabIndex={0}>{found.schema_source}</pre>
          ) : found.catalog.nodes.length === 0 ? (
            <Empty title="This graph has no types yet">
              Write a schema and apply it: <code>omnigraph schema apply schema.pg</code>
            </Empty>
          ) : (
            <div className="split">
              <Drawing schema={found} rows={rows} chosen={chosen} choose={setChosen} />
              <Details schema={found} rows={rows} chosen={chosen} choose={setChosen} />
            </div>
          )
        }
      </When>
    </>
  );
}

function sum(rows: Map<string, number>, prefix: string): number {
  return [...rows].reduce((total, [key, count]) => (key.startsWith(prefix) ? total + count : total), 0);
}

interface Given {
  schema: Schema;
  rows: Map<string, number>;
  chosen: string | null;
  choose: (name: string | null) => void;
}

function Drawing({ schema, rows, chosen, choose }: Given) {
  const isNarrow = useNarrow();
  const drawing = useMemo(() => laySchema(schema.catalog, isNarrow), [schema, isNarrow]);
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => {
    if (chosen !== null) svg.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [chosen]);
  const pick = (key: string) => ({
    tabIndex: 0,
    role: "button",
    "aria-pressed": chosen === key,
    onClick: () => choose(chosen === key ? null : key),
    onKeyDown: (event: React.KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(chosen === key ? null : key);
    },
  });
  return (
    <div className="panel canvas" tabIndex={0} role="region" aria-label="Types and the edges between them">
      <svg ref={svg} className="schema" viewBox={`0 0 ${drawing.width} ${drawing.height}`} width={drawing.width} height={drawing.height}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
            <path d="M0 0.5 7 4 0 7.5z" />
          </marker>
        </defs>
        {drawing.arrows.map((arrow) => {
          const key = `edge:${arrow.type.name}`;
          const count = rows.get(key);
          const card = tellCardinality(arrow.type);
          return (
            <g key={key} className={chosen === key ? "arrow chosen" : "arrow"}>
              <path className="hit" d={tellPath(arrow.points)} {...pick(key)} aria-label={`Edge type ${arrow.type.name}, ${arrow.type.source} to ${arrow.type.target}`} />
              <path className="line" d={tellPath(arrow.points)} markerEnd="url(#arrow)" />
              <rect x={arrow.label.x - widthOf(arrow.type) / 2} y={arrow.label.y - 16} width={widthOf(arrow.type)} height={count === undefined ? 20 : 34} rx="6" />
              <text x={arrow.label.x} y={arrow.label.y - 1}>
                {clipText(arrow.type.name, MOST_LABEL)}
              </text>
              {count !== undefined && (
                <text className="count" x={arrow.label.x} y={arrow.label.y + 13}>
                  {tellNumber(count)}
                  {card && ` · ${card}`}
                </text>
              )}
            </g>
          );
        })}
        {drawing.boxes.map((box) => {
          const key = `node:${box.type.name}`;
          const count = rows.get(key);
          return (
            <g key={key} className={chosen === key ? "type chosen" : "type"} transform={`translate(${box.x},${box.y})`}>
              <rect className="hit" width={box.width} height={box.height} rx="10" {...pick(key)} aria-label={`Node type ${box.type.name}${count === undefined ? "" : `, ${count} nodes`}`} />
              <rect width={box.width} height={box.height} rx="10" />
              <text className="title" x="14" y="22">
                {clipText(box.type.name, 19)}
              </text>
              {count !== undefined && (
                <text className="count" x={box.width - 14} y="22">
                  {tellNumber(count)}
                </text>
              )}
              <line x1="0" x2={box.width} y1={HEAD} y2={HEAD} />
              {box.type.properties.slice(0, MOST_ROWS).map((property, at) => (
                <g key={property.id} transform={`translate(0,${HEAD + 18 + at * ROW})`}>
                  <text className={box.type.key?.includes(property.name) ? "property key" : "property"} x="14">
                    {clipText(property.name, 16)}
                  </text>
                  <text className="kind" x={box.width - 14}>
                    {clipText(tellType(property.type), 13)}
                  </text>
                </g>
              ))}
              {box.type.properties.length > MOST_ROWS && (
                <text className="kind more" x="14" y={HEAD + 18 + MOST_ROWS * ROW}>
                  {box.type.properties.length - MOST_ROWS} more
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function Details({ schema, rows, chosen, choose }: Given) {
  if (chosen === null) return <AllTypes schema={schema} rows={rows} choose={choose} chosen={chosen} />;
  const [kind, name] = chosen.split(":") as [string, string];
  const type = (kind === "node" ? schema.catalog.nodes : schema.catalog.edges).find((item) => item.name === name);
  if (!type) return null;
  const edge = kind === "edge" ? (type as EdgeType) : null;
  const rules = [...tellRules(type), ...(edge && tellCardinality(edge) ? [`@card(${tellCardinality(edge)})`] : [])];
  const count = rows.get(chosen);
  return (
    <aside className="panel details" aria-label={`About ${name}`}>
      <div className="head">
        <h2>{name}</h2>
        <span className="space" />
        <button className="link" onClick={() => choose(null)}>
          All types
        </button>
      </div>
      {edge && (
        <p>
          {edge.source} → {edge.target}
        </p>
      )}
      {type.description && <p>{type.description}</p>}
      {count !== undefined && <p className="quiet">{tellCount(count, kind)}</p>}
      {rules.length > 0 && (
        <p className="chips">
          {rules.map((rule) => (
            <code key={rule} className="chip">
              {rule}
            </code>
          ))}
        </p>
      )}
      <dl className="properties">
        {type.properties.map((property) => (
          <div key={property.id}>
            <dt>{property.name}</dt>
            <dd>
              <code>{tellType(property.type)}</code>
              {property.description && <span className="quiet"> {property.description}</span>}
            </dd>
          </div>
        ))}
      </dl>
      <Link className="button" page="query" params={{ q: sampleQuery(type, edge) }}>
        Look at some
      </Link>
    </aside>
  );
}

function AllTypes({ schema, rows, choose }: Given) {
  const [wanted, setWanted] = useState("");
  const fits = (type: NodeType) => type.name.toLowerCase().includes(wanted.toLowerCase());
  return (
    <aside className="panel details" aria-label="All types">
      {schema.catalog.nodes.length + schema.catalog.edges.length > MANY && <input type="search" aria-label="Find a type" placeholder="Find a type" value={wanted} onChange={(event) => setWanted(event.target.value)} />}
      {(["node", "edge"] as const).map((kind) => (
        <section key={kind}>
          <h2>{kind === "node" ? "Nodes" : "Edges"}</h2>
          <ul className="list">
            {(kind === "node" ? schema.catalog.nodes : schema.catalog.edges).filter(fits).map((type) => (
              <li key={type.name}>
                <button className="row" onClick={() => choose(`${kind}:${type.name}`)}>
                  <span className="clip">{type.name}</span>
                  <span className="quiet">{rows.has(`${kind}:${type.name}`) ? tellNumber(rows.get(`${kind}:${type.name}`) ?? 0) : ""}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}
