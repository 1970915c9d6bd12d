/** Places for the nodes of a picture, by forces; the same picture always gets the same places. */

export interface LayoutRequest {
  nodes: string[];
  edges: [string, string][];
  /** Nodes that stand already: what is new finds room around them. */
  known: Record<string, [number, number]>;
}

export type Places = Record<string, [number, number]>;

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
/** Neighbours want to stand so far apart; beyond `REACH` of it nodes do not feel each other. */
const LENGTH = 1;
const REACH = 3.2;

/** Fruchterman and Reingold's forces, with a grid: each node feels only those near to it. */
export function layPicture({ nodes, edges, known }: LayoutRequest): Places {
  const count = nodes.length;
  const index = new Map(nodes.map((key, at) => [key, at]));
  const links = edges
    .map(([from, to]) => [index.get(from), index.get(to)] as const)
    .filter((pair): pair is readonly [number, number] => pair[0] !== undefined && pair[1] !== undefined && pair[0] !== pair[1]);
  const degree = new Float64Array(count);
  const anchors = new Map<number, [number, number]>();
  for (const [from, to] of links) {
    degree[from]! += 1;
    degree[to]! += 1;
    const [fromKnown, toKnown] = [known[nodes[from]!], known[nodes[to]!]];
    if (toKnown) anchors.set(from, toKnown);
    if (fromKnown) anchors.set(to, fromKnown);
  }
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  nodes.forEach((key, at) => {
    const anchor = anchors.get(at);
    const radius = anchor ? LENGTH : Math.sqrt(at + 0.5) * LENGTH * 0.8;
    const place = known[key] ?? [(anchor?.[0] ?? 0) + radius * Math.cos(at * GOLDEN), (anchor?.[1] ?? 0) + radius * Math.sin(at * GOLDEN)];
    x[at] = place[0];
    y[at] = place[1];
  });
  const rounds = count > 800 ? 120 : count > 200 ? 200 : 320;
  for (let round = 0; round < rounds && count > 1; round += 1) {
    const heat = (LENGTH * 0.6 * (rounds - round)) / rounds;
    step(x, y, links, degree, heat);
  }
  if (Object.keys(known).length === 0) layWide(x, y);
  return Object.fromEntries(nodes.map((key, at) => [key, [x[at]!, y[at]!] as [number, number]]));
}

/** Turn what is laid out so that it is wider than it is high, as windows are, and labels find room. */
function layWide(x: Float64Array, y: Float64Array): void {
  const count = Math.max(1, x.length);
  const mean = (values: Float64Array) => values.reduce((total, value) => total + value, 0) / count;
  const [mx, my] = [mean(x), mean(y)];
  let [xx, yy, xy] = [0, 0, 0];
  for (let at = 0; at < x.length; at += 1) {
    const [dx, dy] = [x[at]! - mx, y[at]! - my];
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  const angle = -0.5 * Math.atan2(2 * xy, xx - yy);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (let at = 0; at < x.length; at += 1) {
    const [dx, dy] = [x[at]! - mx, y[at]! - my];
    x[at] = dx * cos - dy * sin;
    y[at] = dx * sin + dy * cos;
  }
}

function step(x: Float64Array, y: Float64Array, links: (readonly [number, number])[], degree: Float64Array, heat: number): void {
  const count = x.length;
  const dx = new Float64Array(count);
  const dy = new Float64Array(count);
  pushApart(x, y, dx, dy);
  for (const [from, to] of links) {
    const [ex, ey] = [x[to]! - x[from]!, y[to]! - y[from]!];
    const distance = Math.hypot(ex, ey) || 1e-6;
    // Many edges pull together no harder than a few: else stars collapse.
    const pull = (distance * distance) / LENGTH / distance / Math.sqrt(Math.min(degree[from]!, degree[to]!));
    dx[from]! += ex * pull;
    dy[from]! += ey * pull;
    dx[to]! -= ex * pull;
    dy[to]! -= ey * pull;
  }
  for (let at = 0; at < count; at += 1) {
    dx[at]! -= x[at]! * 0.06;
    dy[at]! -= y[at]! * 0.06;
    const force = Math.hypot(dx[at]!, dy[at]!) || 1e-9;
    const moved = Math.min(force, heat) / force;
    x[at]! += dx[at]! * moved;
    y[at]! += dy[at]! * moved;
  }
}

function pushApart(x: Float64Array, y: Float64Array, dx: Float64Array, dy: Float64Array): void {
  const cell = LENGTH * REACH;
  const grid = new Map<string, number[]>();
  const column = (value: number) => Math.floor(value / cell);
  for (let at = 0; at < x.length; at += 1) {
    const name = `${column(x[at]!)},${column(y[at]!)}`;
    const found = grid.get(name);
    if (found) found.push(at);
    else grid.set(name, [at]);
  }
  for (let at = 0; at < x.length; at += 1) {
    for (let i = -1; i <= 1; i += 1) {
      for (let j = -1; j <= 1; j += 1) {
        for (const other of grid.get(`${column(x[at]!) + i},${column(y[at]!) + j}`) ?? []) {
          if (other === at) continue;
          let [ex, ey] = [x[at]! - x[other]!, y[at]! - y[other]!];
          if (ex === 0 && ey === 0) [ex, ey] = [(at - other) * 1e-3, 1e-3];
          const square = Math.max(ex * ex + ey * ey, 1e-4);
          if (square > cell * cell) continue;
          const push = (LENGTH * LENGTH) / square;
          dx[at]! += ex * push;
          dy[at]! += ey * push;
        }
      }
    }
  }
}
