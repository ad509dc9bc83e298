// A flame graph: a function's width is its share of the samples; what it calls stands below it.
import { html, useState } from "./view.js";
import { percent, withoutUpload } from "./words.js";

const ROW = 20;
const LEAST = 0.004;

export function Flame({ data }) {
  const [path, setPath] = useState([]);
  const root = path.reduce((node, index) => node.children?.[index] ?? node, data);
  const boxes = [];
  place(root, 0, 1, 0, path, boxes);
  const depth = Math.max(...boxes.map((box) => box.depth)) + 1;
  return html`<div class="flame" style=${`height:${depth * ROW}px`} role="group" aria-label="Flame graph">${boxes.map((box) => html`<button key=${box.path.join(".")} type="button" style=${`left:${box.left * 100}%;width:${box.width * 100}%;top:${box.depth * ROW}px;background:${colourOf(box.name)}`} title=${`${box.name}: ${percent(box.value / data.value)} of ${data.value} samples`} onClick=${() => setPath(box.depth === 0 ? path.slice(0, -1) : box.path)}>${box.width > 0.05 ? box.name : ""}</button>`)}</div>
    <p class="note">${path.length ? html`<button type="button" class="link" onClick=${() => setPath([])}>Show all</button>` : "Choose a function to see only what it calls."}</p>`;
}

function place(node, left, width, depth, path, boxes) {
  if (width < LEAST || depth > 60) return;
  boxes.push({ name: withoutUpload(node.name), value: node.value, left, width, depth, path });
  let at = left;
  (node.children ?? []).forEach((child, index) => {
    const share = node.value ? (width * child.value) / node.value : 0;
    place(child, at, share, depth + 1, [...path, index], boxes);
    at += share;
  });
}

function colourOf(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) % 997;
  return `hsl(${22 + (hash % 26)} ${70 + (hash % 20)}% ${66 + (hash % 12)}%)`;
}
