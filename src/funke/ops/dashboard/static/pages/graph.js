// Where does the time go?
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../view.js";
import { now, useAll } from "../data.js";
import { pick } from "../router.js";
import { Answer, Empty, isEnded } from "../parts.js";
import { ancestors, graphSentence, nameOf } from "../sentences.js";
import { behind, byteRate, chainParts, coarse, count, exact, isNumber, isTestTime, moment, rate } from "../words.js";
import { MOST_LINES, layoutOf } from "../layout.js";
import { Load } from "../load.js";
import { TimeSection, VertexPanel } from "./vertex.js";

const WANTED = ["numRecordsInPerSecond", "numRecordsOutPerSecond", "numBytesInPerSecond", "numBytesOutPerSecond", "numRecordsIn", "numLateRecordsDropped", "currentInputWatermark", "currentOutputWatermark"];
const LATE_SUFFIX = "numLateRecordsDropped";

export function GraphPage({ job, path, query }) {
  const nodes = job.plan.nodes;
  const isLive = !isEnded(job.state);
  const paths = nodes.flatMap(({ id }) => [`${path}/vertices/${id}`, ...(isLive ? [`${path}/vertices/${id}/backpressure`] : []), `${path}/vertices/${id}/subtasks/metrics?get=${WANTED.join(",")}`]);
  const answers = useAll(paths);
  const figures = Object.fromEntries(nodes.map(({ id }) => [id, figuresOf(job, id, answers, path)]));
  const loads = Object.fromEntries(nodes.map(({ id }) => [id, figures[id].load]));
  const { root, ...answer } = graphSentence(job, nodes, loads, now());
  const chosen = nodes.find(({ id }) => id === query.vertex);
  const isNarrow = useIsNarrow();
  // The one that is worth a look: what holds the others up, or else the busiest.
  const busiest = nodes.find(({ id }) => id === root) ?? nodes.filter(({ id }) => loads[id].most > 0.05).sort((a, b) => loads[b.id].most - loads[a.id].most)[0];
  useEscape(() => pick({ vertex: "" }), Boolean(chosen));
  if (!nodes.length) return html`<${Answer} ...${answer} /><${Empty} title="No graph yet" text="The job has not reported its graph yet." />`;
  const show = { job, nodes, figures, root, chosen: chosen?.id, isLive };
  return html`<${Answer} ...${answer} />
    <div class="graph-page ${chosen ? "has-panel" : ""}">
      <div class="section">${isNarrow ? html`<${NodeList} ...${show} />` : html`<${Graph} ...${show} />`}
        ${isLive ? html`<div class="legend"><span><i class="busy" />busy</span><span><i class="back" />backpressured: waits for those behind it</span><span><i class="idle" />idle</span></div>` : null}</div>
      ${isLive && !chosen && busiest ? html`<div class="panel section time-below"><h2>${nameOf(busiest)}</h2><${TimeSection} key=${busiest.id} path=${`${path}/vertices/${busiest.id}`} node=${busiest} /></div>` : null}
      ${chosen ? html`<${VertexPanel} key=${chosen.id} job=${job} path=${`${path}/vertices/${chosen.id}`} jobPath=${path} node=${chosen} figures=${figures[chosen.id]} isLive=${isLive} />` : null}
    </div>`;
}

function useIsNarrow() {
  const media = useMemo(() => matchMedia("(max-width: 760px)"), []);
  const [isNarrow, set] = useState(media.matches);
  useEffect(() => {
    const changed = () => set(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return isNarrow;
}

export function useEscape(action, isOn) {
  useEffect(() => {
    if (!isOn) return undefined;
    const onKeyDown = (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) action(); };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [isOn]);
}

// What is known of a vertex, from three answers.
function figuresOf(job, id, answers, path) {
  const pressure = answers[`${path}/vertices/${id}/backpressure`]?.value;
  const detail = answers[`${path}/vertices/${id}`]?.value;
  const metrics = Object.fromEntries((answers[`${path}/vertices/${id}/subtasks/metrics?get=${WANTED.join(",")}`]?.value ?? []).map((each) => [each.id, each]));
  const subtasks = pressure?.status === "ok" ? pressure.subtasks : [];
  const mean = (values) => (values.length ? values.reduce((sum, each) => sum + each, 0) / values.length : undefined);
  const watermark = metrics.currentInputWatermark?.min ?? metrics.currentOutputWatermark?.min;
  return {
    vertex: job.vertices.find((each) => each.id === id),
    detail, pressure, metrics,
    recordsIn: metrics.numRecordsInPerSecond?.sum, recordsOut: metrics.numRecordsOutPerSecond?.sum,
    bytesIn: metrics.numBytesInPerSecond?.sum, bytesOut: metrics.numBytesOutPerSecond?.sum,
    late: metrics[LATE_SUFFIX]?.sum,
    watermark,
    lag: isNumber(watermark) && watermark > -9e15 && watermark < 9e15 && !isTestTime(watermark, now()) ? now() - watermark : undefined,
    load: {
      isMeasured: subtasks.length > 0,
      busy: mean(subtasks.map((each) => each.busyRatio)), back: mean(subtasks.map((each) => each.ratio)), idle: mean(subtasks.map((each) => each.idleRatio)),
      most: Math.max(0, ...subtasks.map((each) => each.busyRatio)), mostBack: Math.max(0, ...subtasks.map((each) => each.ratio)),
      parts: detail?.subtasks?.map((each) => each.metrics["read-records"] || 0) ?? [],
    },
  };
}

// Of an edge, the rate is that of its receiver, or of its sender, whichever has no other edge on that side.
function edgeFigures({ nodes, figures }, source, target) {
  if (nodes.find(({ id }) => id === target).inputs.length === 1 && isNumber(figures[target].recordsIn)) return { records: figures[target].recordsIn, bytes: figures[target].bytesIn ?? figures[source].bytesOut };
  if (nodes.filter(({ inputs }) => inputs?.some(({ id }) => id === source)).length === 1) return { records: figures[source].recordsOut, bytes: figures[source].bytesOut };
  return {};
}

function Graph(show) {
  const { nodes, figures, isLive } = show;
  const structure = JSON.stringify(nodes.map(({ id, inputs, description }) => [id, (inputs ?? []).map((each) => each.id), chainParts(description).length]));
  const layout = useMemo(() => layoutOf(nodes), [structure]);
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const scale = width ? Math.max(0.7, Math.min(1, width / layout.width)) : 1;
  const fastest = Math.max(1, ...layout.edges.map(({ source, target }) => edgeFigures(show, source, target).records ?? 0));
  return html`<div class="graph" tabindex="0" role="region" aria-label="Graph of the job"><div ref=${box}>
    <div class="graph-space" style=${`width:${layout.width * scale}px;height:${layout.height * scale}px;margin:0 auto`}>
      <div class="graph-scaled" style=${`width:${layout.width}px;height:${layout.height}px;transform:scale(${scale})`}>
        <svg width=${layout.width} height=${layout.height} aria-hidden="true">${layout.edges.map((edge) => {
          const { records = 0 } = edgeFigures(show, edge.source, edge.target);
          const isBack = (figures[edge.source].load.mostBack ?? 0) > 0.1;
          return html`<g key=${`${edge.source}-${edge.target}`}><path class="edge ${isBack ? "back" : ""}" d=${edge.curve} stroke-width=${isLive ? 1.5 + 4.5 * Math.sqrt(Math.max(0, records) / fastest) : 1.5} /><path class="edge-head ${isBack ? "back" : ""}" d=${edge.head} /></g>`;
        })}</svg>
        ${layout.edges.map((edge) => {
          const { records, bytes } = edgeFigures(show, edge.source, edge.target);
          return html`<div key=${`${edge.source}-${edge.target}`} class="edge-text" style=${`left:${edge.middle.x}px;top:${edge.middle.y}px`} title=${isNumber(records) ? `${exact(records)} records/s` : edge.ship}>${isLive && isNumber(records) ? html`<b>${rate(records)}</b><br />${isNumber(bytes) ? byteRate(bytes) : edge.ship.toLowerCase()}` : edge.ship.toLowerCase()}</div>`;
        })}
        ${layout.nodes.map((place) => html`<${Node} key=${place.id} node=${place.node} style=${`left:${place.x}px;top:${place.y}px;width:${place.width}px;height:${place.height}px`} ...${show} />`)}
      </div>
    </div></div></div>`;
}

function NodeList(show) {
  const order = [...show.nodes].sort((a, b) => ancestors(a, show.nodes).size - ancestors(b, show.nodes).size);
  return html`<ol class="node-list">${order.map((node) => html`<li key=${node.id}>
    ${(node.inputs ?? []).map(({ id, ship_strategy: ship }) => {
      const { records } = edgeFigures(show, id, node.id);
      return html`<div class="between figures" key=${id}>↓ ${isNumber(records) && show.isLive ? rate(records) : ship.toLowerCase()} from ${nameOf(show.nodes.find((each) => each.id === id))}</div>`;
    })}
    <${Node} node=${node} ...${show} /></li>`)}</ol>`;
}

function Node({ node, style, figures, root, chosen, isLive }) {
  const { vertex, load, late, lag, watermark } = figures[node.id];
  const parts = chainParts(node.description);
  const rest = parts.slice(1);
  const lines = rest.length > MOST_LINES ? [...rest.slice(0, MOST_LINES - 1), `${rest.length - MOST_LINES + 1} more`] : rest;
  const own = useRef(null);
  // Beside an open panel there is less room: what was chosen stays in sight.
  useEffect(() => { if (chosen === node.id) own.current?.scrollIntoView({ block: "nearest", inline: "nearest" }); }, [chosen]);
  return html`<button ref=${own} type="button" class="node ${root === node.id ? "root" : ""}" style=${style} aria-pressed=${String(chosen === node.id)} onClick=${() => pick({ vertex: chosen === node.id ? "" : node.id })} title=${parts.join(" → ")}>
    <span class="node-head"><b>${nameOf(node)}</b><span>× ${node.parallelism}${vertex && vertex.status !== "RUNNING" ? ` · ${vertex.status.toLowerCase()}` : ""}</span></span>
    <ul role="presentation">${lines.map((line, index) => html`<li key=${index} role="presentation">→ ${line}</li>`)}</ul>
    <span class="notes">${isNumber(lag) && isLive ? html`<span>watermark ${coarse(Math.max(0, lag))} behind</span>` : isLive && isNumber(watermark) && watermark < 9e15 ? html`<span title=${moment(watermark)}>watermark: ${behind(watermark, now())}</span>` : null}${late > 0 ? html`<span class="late">${count(late)} late</span>` : null}${!isLive ? html`<span>${count(vertex?.metrics["read-records"])} in, ${count(vertex?.metrics["write-records"])} out</span>` : null}</span>
    ${isLive ? html`<${Load} load=${load} />` : null}
  </button>`;
}
