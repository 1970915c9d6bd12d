/** A result as a picture: the nodes and edges of its rows, which grow where they are clicked. */

import { useEffect, useMemo, useState } from "react";
import { useDoing } from "../api/ask";
import type { Catalog, EdgeRecord, QueryResult } from "../api/shapes";
import { tellCount, tellNumber } from "../lib/formats";
import { addEdge, addRecords, cutPicture, emptyPicture, joinPictures, MOST_DRAWN, pictureOfRows, searchEdges, type Picture, type PictureNode } from "../lib/picture";
import { EntityCard } from "../parts/entity_card";
import { useGraph } from "../parts/graph_context";
import { PictureView } from "../parts/picture_view";
import { Empty, Failure } from "../parts/states";

const EDGES_AT_ONCE = 50;
const MOST_UNASKED = MOST_DRAWN / 4;

export function ResultPicture({ result, columns, catalog }: { result: QueryResult; columns: Record<string, string>; catalog: Catalog }) {
  const view = useGraph();
  const where = { snapshot: result.graph_commit_id };
  const first = useMemo(() => pictureOfRows(result.rows, catalog, columns), [result, catalog, columns]);
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
