/** One node or edge: what it is, who made each property so, its edges, and what became of it over time. */

import { useMemo, useState } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Commit, EdgeRecord, Entity, EntityChange } from "../api/shapes";
import { compareImages } from "../lib/differences";
import { shortId, tellAge, tellCount } from "../lib/formats";
import { addNode, addRecords, emptyPicture } from "../lib/picture";
import { Properties } from "../review/difference";
import { target, useGraph } from "../parts/graph_context";
import { Link, useNavigation } from "../parts/navigation";
import { PictureView } from "../parts/picture_view";
import { Empty, Failure, When } from "../parts/states";
import { Name, ShownValue } from "../parts/values";
import { writePlace } from "../lib/place";
import { useSchema } from "../parts/use_schema";

const EDGES = 50;

export default function EntityPage() {
  const view = useGraph();
  const { place, go } = useNavigation();
  const { client } = view.session;
  const type = place.params.type ?? "";
  const id = place.params.id ?? "";
  const where = target(view);
  const key = `${view.graph} ${type} ${id} ${view.branch} ${view.at} ${view.round}`;
  const named = { graph: view.graph, type, id, ...where };
  const schema = useSchema();
  const entity = useAsk(`entity ${key}`, async (signal) => (await client.showEntity(named, { signal })) as unknown as Entity);
  const blame = useAsk(`blame ${key}`, async (signal) => (await client.showBlame(named, { signal })).properties as unknown as Record<string, Commit>);
  const history = useAsk(`history ${key}`, async (signal) => (await client.showHistory({ ...named, limit: 100 }, { signal })).changes as unknown as EntityChange[]);
  const isNode = schema.value?.catalog.nodes.some((item) => item.name === type) ?? false;
  const edges = useAsk(isNode ? `edges ${key}` : null, async (signal) => (await client.listEdges({ ...named, limit: EDGES }, { signal })).edges as unknown as EdgeRecord[]);
  const picture = useMemo(() => {
    const made = emptyPicture();
    if (!schema.value || !edges.value) return made;
    addNode(made, type, id, null, entity.value?.properties);
    addRecords(made, schema.value.catalog, edges.value, null);
    return made;
  }, [schema.value, edges.value, entity.value, type, id]);
  const branch = view.branch === "main" ? null : view.branch;

  if (!type || !id) return <Empty title="No node or edge is named">Choose one in the result of a query.</Empty>;
  return (
    <>
      <div className="head">
        <h1>
          <span className="quiet">{type}</span> <Name text={id} />
        </h1>
      </div>
      <div className="split">
        <div className="stack">
          <section className="panel" aria-label="Properties">
            <When asked={entity} what="the properties">
              {(found) => (
                <dl className="properties blame">
                  {found.ends && (
                    <div>
                      <dt>ends</dt>
                      <dd>{tellEnds(found.ends)}</dd>
                    </div>
                  )}
                  {Object.entries(found.properties).map(([name, value]) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>
                        <ShownValue value={value} />
                        <Blame commit={blame.value?.[name]} />
                      </dd>
                    </div>
                  ))}
                </dl>
              )}
            </When>
          </section>
          {isNode && edges.value && edges.value.length > 0 && (
            <section aria-label="Edges">
              <div className="head">
                <h2>Edges</h2>
                <span className="quiet">{edges.value.length === EDGES ? `the first ${EDGES}` : tellCount(edges.value.length, "edge")}</span>
              </div>
              <PictureView
                picture={picture}
                chosen={null}
                choose={(node) => {
                  if (node && node.id !== id) go(writePlace({ graph: view.graph, page: "entity", params: { type: node.type, id: node.id, branch, at: view.at } }));
                }}
              />
            </section>
          )}
        </div>
        <section className="panel" aria-label="History">
          <h2>History</h2>
          <When asked={history} what="the history">
            {(changes) => (
              <ol className="timeline">
                {changes.map((change) => (
                  <Moment key={`${key} ${change.commit.id}`} change={change} type={type} id={id} />
                ))}
              </ol>
            )}
          </When>
        </section>
      </div>
    </>
  );
}

function tellEnds(ends: NonNullable<Entity["ends"]>) {
  const [from, to] = Array.isArray(ends) ? ends : [ends.from, ends.to];
  return (
    <>
      <Name text={from} /> → <Name text={to} />
    </>
  );
}

function Blame({ commit }: { commit: Commit | undefined }) {
  if (!commit) return null;
  return (
    <div className="quiet small">
      <bdi>{commit.actor ?? "nobody"}</bdi> · {tellAge(commit.created_at, Date.now())} ·{" "}
      <Link page="commit" params={{ id: commit.id }}>
        <bdi>{commit.message ?? shortId(commit.id)}</bdi>
      </Link>
    </div>
  );
}

function Moment({ change, type, id }: { change: EntityChange; type: string; id: string }) {
  const view = useGraph();
  const [isOpen, setOpen] = useState(false);
  const [isSure, setSure] = useState(false);
  const doing = useDoing();
  const { commit } = change;
  const rows = isOpen ? compareImages(change.before, change.after) : [];
  return (
    <li>
      <div className="head">
        <span className={`op ${change.op}`} title={change.op}>
          {{ insert: "+", update: "~", delete: "−" }[change.op]}
        </span>
        <Link page="commit" params={{ id: commit.id }}>
          <bdi>{commit.message ?? commit.operation}</bdi>
        </Link>
      </div>
      <p className="quiet small">
        <bdi>{commit.actor ?? "nobody"}</bdi> · {tellAge(commit.created_at, Date.now())} · <bdi>{commit.branch}</bdi>
        {change.came_by_merge && " · by merge"}
        {change.changed.length > 0 && ` · ${change.changed.join(", ")}`}
      </p>
      <p className="actions">
        <button className="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide" : "What changed"}
        </button>
        {view.at === null && !view.isReadOnly && change.after && (
          <button
            className="link"
            onClick={() => {
              if (!isSure) {
                setSure(true);
                return;
              }
              doing.run(async () => {
                await view.session.client.resetEntity({ graph: view.graph, type, id, branch: view.branch, idempotencyKey: makeKey(), body: { revision: commit.id } });
                setSure(false);
                view.refresh();
              });
            }}
          >
            {isSure ? "Really put it back?" : "Put back to this"}
          </button>
        )}
      </p>
      {isOpen && <Properties rows={rows.filter((row) => row.isChanged)} op={change.op} />}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </li>
  );
}
