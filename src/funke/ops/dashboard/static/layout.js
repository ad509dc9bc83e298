// Places the vertices of a job from left to right; depends on the graph alone, so that nothing moves while it runs.
import dagre from "./vendor/dagre.js";
import { chainParts } from "./words.js";

const WIDTH = 256;
const LINE = 16;
export const MOST_LINES = 4;

export function layoutOf(nodes) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: 120, edgesep: 24, marginx: 4, marginy: 4 });
  graph.setDefaultEdgeLabel(() => ({}));
  const ids = new Set(nodes.map(({ id }) => id));
  for (const node of nodes) graph.setNode(node.id, { width: WIDTH, height: heightOf(node) });
  const ships = new Map();
  for (const node of nodes) {
    for (const input of node.inputs ?? []) {
      if (!ids.has(input.id)) continue;
      graph.setEdge(input.id, node.id, { width: 80, height: 32, labelpos: "c" });
      ships.set(`${input.id} ${node.id}`, input.ship_strategy ?? "");
    }
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width, height,
    nodes: nodes.map((node) => { const at = graph.node(node.id); return { id: node.id, node, width: at.width, height: at.height, x: at.x - at.width / 2, y: at.y - at.height / 2 }; }),
    edges: graph.edges().map(({ v, w }) => edgeOf(v, w, graph, ships.get(`${v} ${w}`))),
  };
}

// Head, one line for each operator, notes, and the bar at the foot.
const heightOf = (node) => 32 + LINE * Math.min(MOST_LINES, chainParts(node.description).length - 1) + 20 + 46;

function edgeOf(source, target, graph, ship) {
  const label = graph.edge(source, target);
  const from = graph.node(source);
  const to = graph.node(target);
  const first = { x: from.x + from.width / 2, y: from.y };
  const last = { x: to.x - to.width / 2 - 2, y: to.y };
  const inner = label.points.slice(1, -1);
  const points = [first, ...inner, { x: last.x - 6, y: last.y }];
  return { source, target, ship, middle: { x: label.x, y: label.y }, curve: curveThrough(points), head: `M${last.x} ${last.y}l-9 -5v10z` };
}

// Leaves and arrives level, and bends between.
function curveThrough(points) {
  let path = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < points.length; i += 1) {
    const [a, b] = [points[i - 1], points[i]];
    const middle = (a.x + b.x) / 2;
    path += `C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`;
  }
  return path;
}
