/** A picture of many nodes, drawn by WebGL. */

import Graph from "graphology";
import { useEffect, useRef, useState } from "react";
import Sigma from "sigma";
import type { Places } from "../lib/force";
import { describePicture, type Picture, type PictureNode } from "../lib/picture";
import { Empty } from "./states";
import { useDark } from "./theme";

interface Given {
  picture: Picture;
  places: Places;
  types: string[];
  chosen: string | null;
  choose: (node: PictureNode | null) => void;
}

export default function LargePicture({ picture, places, types, chosen, choose }: Given) {
  const host = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const [fault, setFault] = useState(false);
  const choosing = useRef(choose);
  choosing.current = choose;

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const styles = getComputedStyle(document.documentElement);
    const colour = (name: string) => styles.getPropertyValue(name).trim();
    const graph = new Graph({ multi: true, type: "directed" });
    for (const node of picture.nodes.values()) {
      const [x, y] = places[node.key] ?? [0, 0];
      const name = node.mark ? `--${node.mark}` : `--hue-${types.indexOf(node.type) % 8}`;
      graph.addNode(node.key, { x, y: -y, label: node.label, size: node.key === chosen ? 8 : 4.5, color: colour(name) });
    }
    for (const edge of picture.edges.values()) {
      const isMarked = edge.mark !== null && edge.mark !== "context";
      graph.addEdgeWithKey(edge.key, edge.from, edge.to, { size: isMarked ? 2 : 1, color: colour(isMarked ? `--${edge.mark}` : "--edge") });
    }
    let drawn: Sigma | null = null;
    try {
      drawn = new Sigma(graph, element, { labelColor: { color: colour("--text") }, labelFont: "system-ui, sans-serif", labelSize: 12, labelRenderedSizeThreshold: 4, labelDensity: 0.6, defaultEdgeType: "arrow", zIndex: true });
      drawn.on("clickNode", ({ node }) => choosing.current(picture.nodes.get(node) ?? null));
    } catch {
      setFault(true);
    }
    return () => drawn?.kill();
  }, [picture, places, types, chosen, dark]);

  if (fault) return <Empty title="This browser cannot draw so many nodes">It has no WebGL. Ask for fewer, or look at the table.</Empty>;
  return <div className="drawing large" ref={host} role="img" aria-label={describePicture(picture)} />;
}
