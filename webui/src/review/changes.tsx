/** A set of changes: a summary by type, the change as a picture, and each entity before and after. */

import { useEffect, useMemo, useState, type ReactNode } from "react";
import { forEachFew, useAsk, useDoing } from "../api/ask";
import type { Change, ChangePage, DiffSummary, EdgeRecord } from "../api/shapes";
import { groupChanges, sumCounts, type EntityDifference } from "../lib/differences";
import { tellCount, tellNumber } from "../lib/formats";
import { addRecords, pictureOfChanges, type Picture, type PictureNode } from "../lib/picture";
import { useSchema } from "../parts/use_schema";
import { Counts, EntityChangeView, Summary } from "./difference";
import { EntityCard } from "../parts/entity_card";
import { useGraph } from "../parts/graph_context";
import { PictureView } from "../parts/picture_view";
import { Empty, Failure, Loading } from "../parts/states";

const PAGE = 200;
const AROUND = 60;
const EDGES = 12;
const OPENED = 8;

interface Given {
  from: string;
  to: string;
  /** What stands under an entity: its comments. */
  under?: (entity: EntityDifference) => ReactNode;
}

export function ChangesBetween({ from, to, under }: Given) {
  const view = useGraph();
  const { client } = view.session;
  const [chosen, setChosen] = useState<string | null>(null);
  const [changes, setChanges] = useState<Change[]>([]);
  const [token, setToken] = useState<string | null>(null);
  const [isDrawn, setDrawn] = useState(true);
  const type = chosen?.split(":").slice(1).join(":");
  const summary = useAsk(`summary ${view.graph} ${from} ${to}`, async (signal) => (await client.sumDiff({ graph: view.graph, from, to }, { signal })) as unknown as DiffSummary);
  const first = useAsk(`changes ${view.graph} ${from} ${to} ${chosen}`, async (signal) => {
    const kinds = chosen ? ([chosen.split(":")[0]] as ("node" | "edge")[]) : undefined;
    return (await client.showDiff({ graph: view.graph, from, to, limit: PAGE, types: type ? [type] : undefined, kinds }, { signal })) as unknown as ChangePage;
  });
  useEffect(() => {
    setChanges(first.value?.changes ?? []);
    setToken(first.value?.next_page_token ?? null);
  }, [first.value]);
  const doing = useDoing();
  const more = () =>
    doing.run(async () => {
      const kinds = chosen ? ([chosen.split(":")[0]] as ("node" | "edge")[]) : undefined;
      const page = (await client.showDiff({ graph: view.graph, from, to, limit: PAGE, pageToken: token, types: type ? [type] : undefined, kinds })) as unknown as ChangePage;
      setChanges((old) => [...old, ...page.changes]);
      setToken(page.next_page_token);
    });
  const groups = useMemo(() => groupChanges([], summary.value?.counts ?? null), [summary.value]);
  const entities = useMemo(() => groupChanges(changes, null).flatMap((group) => group.entities), [changes]);
  const total = sumCounts(summary.value?.counts ?? null);

  const error = summary.error ?? first.error;
  if (error !== undefined) return <Failure error={error} again={() => { summary.again(); first.again(); }} />;
  if (summary.isLoading || first.isLoading || !summary.value) return <Loading what="the changes" />;
  const count = total.insert + total.update + total.delete;
  if (count === 0 && summary.value.schema === null) return <Empty title="Nothing differs">Both say the same.</Empty>;
  return (
    <div className="stack">
      <div className="head">
        <h2>{tellCount(count, "change")}</h2>
        <Counts counts={total} />
        <span className="space" />
        <button className="link" aria-pressed={isDrawn} onClick={() => setDrawn(!isDrawn)}>
          {isDrawn ? "Hide the picture" : "Show the picture"}
        </button>
      </div>
      {summary.value.schema !== null && <SchemaDifference difference={summary.value.schema} />}
      <Summary groups={groups} chosen={chosen} choose={setChosen} />
      {isDrawn && entities.length > 0 && <ChangePicture entities={entities} from={from} to={to} />}
      <div className="stack tight">
        {entities.map((entity, at) => (
          <EntityChangeView key={entity.key} entity={entity} isOpen={at < OPENED}>
            {under?.(entity)}
          </EntityChangeView>
        ))}
      </div>
      {token !== null && (
        <button onClick={more} disabled={doing.isBusy}>
          {tellNumber(PAGE)} more
        </button>
      )}
      {doing.error !== undefined && <Failure error={doing.error} />}
    </div>
  );
}

function SchemaDifference({ difference }: { difference: Record<string, unknown> }) {
  return (
    <details className="difference" open>
      <summary>
        <span className="op update">~</span> <span className="id">Schema</span>
      </summary>
      <pre className="source inset" tabIndex={0}>{JSON.stringify(difference, null, 2)}</pre>
    </details>
  );
}

/** The change with one hop of what stands around it, coloured by what happened. */
function ChangePicture({ entities, from, to }: { entities: EntityDifference[]; from: string; to: string }) {
  const view = useGraph();
  const schema = useSchema();
  const [picture, setPicture] = useState<Picture | null>(null);
  const [chosen, setChosen] = useState<PictureNode | null>(null);
  const catalog = schema.value?.catalog;
  const nodes = entities.filter((entity) => entity.kind === "node");
  useEffect(() => {
    if (!catalog) return undefined;
    const control = new AbortController();
    const draw = async () => {
      const made = pictureOfChanges(entities, catalog);
      await forEachFew(nodes.slice(0, AROUND), 6, async (entity) => {
        if (control.signal.aborted) return;
        const snapshot = entity.op === "delete" ? from : to;
        const told = await view.session.client.listEdges({ graph: view.graph, type: entity.type, id: entity.id, limit: EDGES, snapshot }, { signal: control.signal });
        addRecords(made, catalog, told.edges as unknown as EdgeRecord[], "context");
      });
      if (!control.signal.aborted) setPicture(made);
    };
    draw().catch(() => {
      if (!control.signal.aborted) setPicture(pictureOfChanges(entities, catalog));
    });
    return () => control.abort();
  }, [entities, catalog, from, to]);
  if (schema.error !== undefined) return null;
  if (!picture) return <Loading what="what stands around it" />;
  if (picture.nodes.size === 0) return null;
  const snapshot = chosen?.mark === "delete" ? from : to;
  return (
    <>
      <div className="split">
        <PictureView picture={picture} chosen={chosen?.key ?? null} choose={setChosen} />
        {chosen && <EntityCard key={chosen.key} node={chosen} where={{ snapshot }} close={() => setChosen(null)} />}
      </div>
      {nodes.length > AROUND && <p className="quiet small">What stands around the first {AROUND} nodes is drawn.</p>}
    </>
  );
}
