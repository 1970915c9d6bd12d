/** A picture of a graph: small ones as SVG, which the keyboard reaches; large ones by WebGL. */

import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Places } from "../lib/force";
import { cutPicture, describePicture, MOST_DRAWN, type Mark, type Picture, type PictureEdge, type PictureNode } from "../lib/picture";
import { tellCount } from "../lib/formats";
import { useNarrow } from "./narrow";
import { Loading } from "./states";

const Large = lazy(() => import("./large_picture"));
const MOST_SMALL = 160;
const FEW = 8;
const UNIT = 104;
const RADIUS = 15;
const HUES = 8;

export interface PictureProps {
  picture: Picture;
  chosen: string | null;
  choose: (node: PictureNode | null) => void;
}

let worker: Worker | null = null;
let asked = 0;
const waiting = new Map<number, (places: Places) => void>();

function askWorker(picture: Picture, known: Places): Promise<Places> {
  if (worker === null) {
    worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<{ id: number; places: Places }>) => {
      waiting.get(event.data.id)?.(event.data.places);
      waiting.delete(event.data.id);
    });
  }
  asked += 1;
  const id = asked;
  const edges = [...picture.edges.values()].map((edge) => [edge.from, edge.to]);
  worker.postMessage({ id, nodes: [...picture.nodes.keys()], edges, known });
  return new Promise((resolve) => waiting.set(id, resolve));
}

/** Places of a picture; those of a picture that has grown begin where they were. */
function usePlaces(picture: Picture): { picture: Picture; places: Places } | null {
  const [laid, setLaid] = useState<{ picture: Picture; places: Places } | null>(null);
  const last = useRef<Places>({});
  useEffect(() => {
    let isCurrent = true;
    const known = Object.fromEntries(Object.entries(last.current).filter(([key]) => picture.nodes.has(key)));
    void askWorker(picture, known).then((places) => {
      if (!isCurrent) return;
      last.current = places;
      setLaid({ picture, places });
    });
    return () => {
      isCurrent = false;
    };
  }, [picture]);
  return laid;
}

export function PictureView({ picture, chosen, choose }: PictureProps) {
  const cut = useMemo(() => cutPicture(picture), [picture]);
  const laid = usePlaces(cut);
  const types = useMemo(() => [...new Set([...cut.nodes.values()].map((node) => node.type))].sort(), [cut]);
  const hidden = picture.nodes.size - cut.nodes.size;
  const marks = useMemo(() => [...new Set([...cut.nodes.values(), ...cut.edges.values()].map((item) => item.mark))].filter((mark): mark is Mark => mark !== null), [cut]);
  return (
    <figure className="picture">
      {laid === null ? (
        <Loading what="the picture" />
      ) : laid.picture.nodes.size <= MOST_SMALL ? (
        <Small laid={laid} types={types} chosen={chosen} choose={choose} />
      ) : (
        <Suspense fallback={<Loading what="the picture" />}>
          <Large picture={laid.picture} places={laid.places} types={types} chosen={chosen} choose={choose} />
        </Suspense>
      )}
      <figcaption>
        {marks.length > 0
          ? (["insert", "update", "delete", "blocked", "context"] as const)
              .filter((mark) => marks.includes(mark))
              .map((mark) => (
                <span key={mark} className={`legend mark-${mark}`}>
                  {LEGEND[mark]}
                </span>
              ))
          : types.slice(0, 12).map((type, at) => (
              <span key={type} className={`legend hue-${at % HUES}`}>
                {type}
              </span>
            ))}
        <span className="space" />
        <span className="quiet">
          {tellCount(cut.nodes.size, "node")}, {tellCount(cut.edges.size, "edge")}
          {hidden > 0 && `; ${tellCount(hidden, "more")} not drawn (at most ${MOST_DRAWN})`}
        </span>
      </figcaption>
    </figure>
  );
}

const LEGEND: Record<Mark, string> = { insert: "added", update: "changed", delete: "removed", blocked: "in conflict", context: "around it" };

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function Small({ laid, types, chosen, choose }: { laid: { picture: Picture; places: Places }; types: string[]; chosen: string | null; choose: (node: PictureNode | null) => void }) {
  const { picture, places } = laid;
  const svg = useRef<SVGSVGElement>(null);
  const isNarrow = useNarrow();
  const fitted = useMemo(() => fitBox(Object.values(places), isNarrow), [places, isNarrow]);
  const [box, setBox] = useState<Box>(fitted);
  useEffect(() => setBox(fitted), [fitted]);
  const at = useCallback((key: string) => [(places[key]?.[0] ?? 0) * UNIT, (places[key]?.[1] ?? 0) * UNIT] as const, [places]);
  const bends = useMemo(() => bendEdges([...picture.edges.values()]), [picture]);
  const drag = useRef<{ x: number; y: number; box: Box } | null>(null);

  const zoom = useCallback((factor: number) => {
    setBox((old) => {
      const width = old.width * factor;
      const height = old.height * factor;
      return { x: old.x + (old.width - width) / 2, y: old.y + (old.height - height) / 2, width, height };
    });
  }, []);
  useEffect(() => {
    const element = svg.current;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15);
    };
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, [zoom]);

  return (
    <div className={picture.nodes.size <= FEW ? "drawing few" : "drawing"}>
      <svg
        ref={svg}
        role="group"
        aria-label={describePicture(picture)}
        viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
        onPointerDown={(event) => {
          if ((event.target as Element).closest(".node")) return;
          drag.current = { x: event.clientX, y: event.clientY, box };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const start = drag.current;
          if (!start) return;
          const scale = start.box.width / Math.max(1, event.currentTarget.clientWidth);
          setBox({ ...start.box, x: start.box.x - (event.clientX - start.x) * scale, y: start.box.y - (event.clientY - start.y) * scale });
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
      >
        <defs>
          {["plain", "insert", "update", "delete", "blocked"].map((mark) => (
            <marker key={mark} id={`head-${mark}`} className={`head mark-${mark}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0 0.5 7 4 0 7.5z" />
            </marker>
          ))}
        </defs>
        {[...picture.edges.values()].map((edge) => {
          const [x1, y1] = at(edge.from);
          const [x2, y2] = at(edge.to);
          const line = drawEdge(x1, y1, x2, y2, bends.get(edge.key) ?? 0);
          const mark = edge.mark && edge.mark !== "context" ? edge.mark : "plain";
          return (
            <g key={edge.key} className={`edge mark-${edge.mark ?? "none"}`}>
              <path d={line.path} markerEnd={`url(#head-${mark})`} />
              <text x={line.x} y={line.y}>
                {edge.type}
              </text>
              <title>{`${edge.type}: ${edge.id}`.slice(0, 300)}</title>
            </g>
          );
        })}
        {[...picture.nodes.values()].map((node) => {
          const [x, y] = at(node.key);
          return (
            <g
              key={node.key}
              className={`node ${node.mark ? `mark-${node.mark}` : `hue-${types.indexOf(node.type) % HUES}`}${chosen === node.key ? " chosen" : ""}`}
              transform={`translate(${x},${y})`}
              tabIndex={0}
              role="button"
              aria-pressed={chosen === node.key}
              aria-label={`${node.type} ${node.label}${node.mark && node.mark !== "context" ? `, ${LEGEND[node.mark]}` : ""}`}
              onClick={() => choose(node)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                choose(node);
              }}
            >
              <circle r={RADIUS} />
              {SIGNS[node.mark ?? "context"] && (
                <text className="sign" y="5">
                  {SIGNS[node.mark ?? "context"]}
                </text>
              )}
              <text className="label" y={RADIUS + 15}>
                {node.label}
              </text>
            </g>
          );
        })}
      </svg>
      <div className="zoom">
        <button aria-label="Zoom in" onClick={() => zoom(1 / 1.25)}>
          +
        </button>
        <button aria-label="Zoom out" onClick={() => zoom(1.25)}>
          −
        </button>
        <button aria-label="Show all" onClick={() => setBox(fitted)}>
          ⤢
        </button>
      </div>
    </div>
  );
}

const SIGNS: Record<Mark, string> = { insert: "+", update: "~", delete: "−", blocked: "!", context: "" };

function fitBox(places: [number, number][], isNarrow: boolean): Box {
  const xs = places.map((place) => place[0] * UNIT);
  const ys = places.map((place) => place[1] * UNIT);
  const [left, right] = [Math.min(0, ...xs) - 90, Math.max(0, ...xs) + 90];
  const [top, bottom] = [Math.min(0, ...ys) - 50, Math.max(0, ...ys) + 60];
  const width = Math.max(isNarrow ? 380 : 820, right - left);
  const height = Math.max(isNarrow ? 240 : 300, bottom - top);
  return { x: (left + right - width) / 2, y: (top + bottom - height) / 2, width, height };
}

/** How much each edge bends, so that parallel ones do not lie on each other. */
function bendEdges(edges: PictureEdge[]): Map<string, number> {
  const groups = new Map<string, PictureEdge[]>();
  for (const edge of edges) {
    const pair = [edge.from, edge.to].sort().join("\n");
    groups.set(pair, [...(groups.get(pair) ?? []), edge]);
  }
  const bends = new Map<string, number>();
  for (const group of groups.values()) {
    group.forEach((edge, at) => {
      const place = at - (group.length - 1) / 2;
      bends.set(edge.key, edge.from < edge.to ? place : -place);
    });
  }
  return bends;
}

function drawEdge(x1: number, y1: number, x2: number, y2: number, bend: number): { path: string; x: number; y: number } {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 1) {
    const path = `M${x1 - 8},${y1 - RADIUS + 2} C${x1 - 40},${y1 - 60} ${x1 + 40},${y1 - 60} ${x1 + 9},${y1 - RADIUS + 1}`;
    return { path, x: x1, y: y1 - 50 };
  }
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const side = bend * 34;
  const [mx, my] = [(x1 + x2) / 2 - dy * side, (y1 + y2) / 2 + dx * side];
  const start = [x1 + dx * RADIUS, y1 + dy * RADIUS];
  const last = Math.hypot(x2 - mx, y2 - my) || 1;
  const end = [x2 - ((x2 - mx) / last) * (RADIUS + 3), y2 - ((y2 - my) / last) * (RADIUS + 3)];
  return { path: `M${start[0]},${start[1]} Q${mx},${my} ${end[0]},${end[1]}`, x: (x1 + x2) / 4 + mx / 2, y: (y1 + y2) / 4 + my / 2 - 4 };
}
