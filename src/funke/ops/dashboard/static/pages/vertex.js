// The panel beside the graph: one vertex with its subtasks, operators, watermarks, metrics and flame graph.
import { html, useState } from "../view.js";
import { now, useData, useOffers } from "../data.js";
import { href, pick } from "../router.js";
import { Icon, Section, Share, Shown, Status, Table } from "../parts.js";
import { nameOf, skewOf } from "../sentences.js";
import { ago, behind, byteRate, bytes, count, isNumber, moment, percent, plural, rate, watermark, withoutUpload } from "../words.js";
import { Flame } from "../flame.js";
import { Load } from "../load.js";

export function VertexPanel({ job, path, node, figures, isLive }) {
  const detail = useData(path);
  const marks = useData(`${path}/watermarks`).value ?? [];
  const late = useData(`${path}/metrics?get=${namesOf(node, "numLateRecordsDropped")}`).value ?? [];
  return html`<aside class="side" aria-label=${`Vertex ${nameOf(node)}`} tabindex="0">
    <div class="side-head"><h2>${figures.vertex?.name ?? nameOf(node)}</h2><button type="button" class="quiet icon-button" onClick=${() => pick({ vertex: "" })} aria-label="Close" title="Close (Esc)"><${Icon} name="close" /></button></div>
    ${isLive ? html`<${Load} load=${figures.load} />
    <dl class="facts"><div><dt>Takes</dt><dd class="num">${rate(figures.recordsIn)} <span class="small muted">${isNumber(figures.bytesIn) ? byteRate(figures.bytesIn) : ""}</span></dd></div><div><dt>Sends</dt><dd class="num">${rate(figures.recordsOut)} <span class="small muted">${isNumber(figures.bytesOut) ? byteRate(figures.bytesOut) : ""}</span></dd></div></dl>` : null}
    <${Shown} of=${detail}>${(vertex) => html`<${Subtasks} vertex=${vertex} pressure=${figures.pressure} marks=${marks} late=${late} isLive=${isLive} /><${Operators} vertex=${vertex} node=${node} /><${StateOfInputs} vertex=${vertex} /><${Patterns} vertex=${vertex} />`}<//>
    <${Section} title="Metrics"><p><a href=${href(["jobs", job.jid, "metrics"], { vertex: node.id })}>Choose charts of this vertex</a></p><//>
    ${isLive ? html`<${TimeSection} path=${path} node=${node} />` : null}
  </aside>`;
}

const namesOf = (node, name) => Array.from({ length: Math.min(64, node.parallelism) }, (_, i) => `${i}.${name}`).join(",");
const ofSubtask = (entries, subtask) => { const text = entries.find((each) => each.id.split(".")[0] === String(subtask))?.value; return text === undefined ? undefined : Number(text); };

function Subtasks({ vertex, pressure, marks, late, isLive }) {
  const taken = vertex.subtasks.map((each) => each.metrics["read-records"] || each.metrics["write-records"] || 0);
  const most = Math.max(1, ...taken);
  const total = taken.reduce((sum, each) => sum + each, 0);
  const skew = skewOf(taken);
  const hasLate = late.some((each) => Number(each.value) > 0);
  const load = (subtask) => pressure?.subtasks?.find((each) => each.subtask === subtask.subtask);
  const isSource = vertex.subtasks.every((each) => !each.metrics["read-records"]);
  const columns = [
    { label: "#", isNumber: true, show: (each) => each.subtask },
    ...(vertex.subtasks.every((each) => each.status === "RUNNING") ? [] : [{ label: "State", kind: "tight", show: (each) => html`<${Status} state=${each.status} />` }]),
    { label: isSource ? "Sent" : "Taken", title: "records since the start, against the most of a subtask", show: (each) => { const own = taken[each.subtask] ?? 0; return html`<span title=${`${own} records, ${percent(total ? own / total : 0)} of all`}><${Share} part=${own / most} text=${count(own)} /></span>`; } },
    ...(isLive && pressure?.status === "ok" ? [
      { label: "Busy", show: (each) => html`<${Share} kind="busy" part=${load(each)?.busyRatio} text=${percent(load(each)?.busyRatio)} />` },
      ...(pressure.subtasks.some((each) => each.ratio > 0.005) ? [{ label: "Backp.", title: "backpressured", show: (each) => html`<${Share} kind="back" part=${load(each)?.ratio} text=${percent(load(each)?.ratio)} />` }] : [])] : []),
    ...(marks.length ? [{ label: "Watermark", isNumber: true, show: (each) => { const mark = ofSubtask(marks, each.subtask); return isNumber(mark) ? html`<span title=${watermark(mark)}>${behind(mark, now())}</span>` : "–"; } }] : []),
    ...(hasLate ? [{ label: "Late", isNumber: true, show: (each) => count(ofSubtask(late, each.subtask)) }] : []),
    { label: "Where", show: (each) => html`<span class="muted where">${[each.endpoint, isNumber(each.slot) ? `slot ${each.slot}` : "", each.attempt ? `attempt ${each.attempt}` : ""].filter(Boolean).map((part, index, all) => html`<span>${part}${index < all.length - 1 ? " ·" : ""}</span> `)}</span>` },
  ];
  const even = skew && skew.factor >= 1.5 ? `${percent(skew.share)} of the records go to subtask ${skew.subtask}` : skew ? "evenly spread" : "";
  return html`<${Section} title=${plural(vertex.subtasks.length, "subtask")} aside=${even}><${Table} isGrid label="Subtasks" rows=${vertex.subtasks} keyOf=${(each) => each.subtask} columns=${columns} /><//>`;
}

const Operators = ({ vertex, node }) => vertex.operators?.length ? html`<${Section} title="Chain" aside=${`${node.inputs?.map((each) => each.ship_strategy.toLowerCase()).join(", ") || "source"} · max parallelism ${vertex.maxParallelism}`}><ul class="operators">${vertex.operators.map((each) => html`<li key=${each.id}><span>${each.name}${each.uid ? html` <code>uid ${each.uid}</code>` : null}</span>${each["user-line"] ? html`<code>${withoutUpload(each["user-line"].split(/[/\\]/).pop())}</code>` : null}</li>`)}</ul><//>` : null;

// What joins keep of each of their inputs.
function StateOfInputs({ vertex }) {
  const rows = (vertex.operators ?? []).flatMap((operator) => (operator["state-of-inputs"] ?? []).map((each) => ({ ...each, operator: operator.id })));
  if (!rows.length) return null;
  const most = Math.max(1, ...rows.map((each) => each.bytes));
  return html`<${Section} title="State of its inputs"><${Table} isGrid label="State of its inputs" rows=${rows} keyOf=${(each) => `${each.operator}.${each.input}`} columns=${[
    { label: "Input", kind: "key", show: (each) => each.name ?? `input ${each.input + 1}` },
    { label: "Bytes", title: "about, of all subtasks", show: (each) => html`<${Share} part=${each.bytes / most} text=${bytes(each.bytes)} />` },
    { label: "Rows in memory", isNumber: true, show: (each) => count(each["rows-in-memory"]) }]} /><//>`;
}

// The automata of patterns: what waits in each state, what an event does there, and which condition fails most.
const Patterns = ({ vertex }) => (vertex.operators ?? []).filter((each) => each.pattern?.length).map((each) => html`<${Automaton} key=${each.id} states=${each.pattern} />`);

function Automaton({ states }) {
  const waiting = states.map((each) => each["partial-matches"] ?? 0);
  const most = Math.max(1, ...waiting);
  const total = waiting.reduce((sum, each) => sum + each, 0);
  const failing = states.filter((each) => each["condition-failures"] > 0).sort((a, b) => b["condition-failures"] - a["condition-failures"])[0];
  const fullest = states[waiting.indexOf(most)];
  const answer = `${total ? `${count(total)} partial ${total === 1 ? "match waits" : "matches wait"}${fullest ? `, most for “${fullest.name}”` : ""}.` : "No partial match waits."}${failing ? ` The condition of “${failing.name}” fails most: ${percent(failing["condition-failures"] / failing["condition-checks"])} of ${count(failing["condition-checks"])} times.` : ""}`;
  return html`<${Section} title="Pattern"><p>${answer}</p><ol class="automaton">${states.map((each) => html`<li key=${each.name}>
    <div><b>${each.name}</b>${isNumber(each["partial-matches"]) ? html`<${Share} part=${each["partial-matches"] / most} text=${count(each["partial-matches"])} />` : null}${isNumber(each["condition-checks"]) ? html`<span class="small muted num" title="how often its condition was false, of how often it was looked at">${count(each["condition-failures"])} of ${count(each["condition-checks"])} false</span>` : null}</div>
    <ul>${each.ways.map((way) => html`<li key=${`${way.text}${way.target}`}>${way.text} → <b>${way.target}</b></li>`)}</ul></li>`)}</ol><//>`;
}

const KINDS = { FULL: "all its time", ON_CPU: "computing", OFF_CPU: "waiting" };
const ABSENT = { "-1": "It does not run any more.", "-2": "Flame graphs are switched off: rest.flamegraph.enabled.", "-3": "Taking samples; this takes some seconds." };

// The flame graph where there is one; and the line at which each subtask mostly is.
export function TimeSection({ path, node }) {
  const isOffered = useOffers("/jobs/{jobid}/vertices/{vertexid}/flamegraph");
  const [kind, setKind] = useState("FULL");
  const { value: flame } = useData(isOffered ? `${path}/flamegraph?type=${kind}` : null);
  const lines = useData(`${path}/metrics?get=${namesOf(node, "busiestLine")}`).value ?? [];
  const shares = useData(`${path}/metrics?get=${namesOf(node, "busiestLineShare")}`).value ?? [];
  return html`<${Section} title="Where its functions spend their time" aside=${flame?.endTimestamp > 0 ? html`sampled <time title=${moment(flame.endTimestamp)}>${ago(flame.endTimestamp, now())}</time>` : null}>
    ${isOffered ? html`<div class="filters" role="group" aria-label="Which of its time">${Object.entries(KINDS).map(([name, word]) => html`<button key=${name} type="button" aria-pressed=${String(kind === name)} onClick=${() => setKind(name)}>${word}</button>`)}</div>` : null}
    ${flame?.data?.value ? html`<${Flame} key=${kind} data=${flame.data} />` : flame ? html`<p class="note">${ABSENT[flame.endTimestamp] ?? "None of its samples were of this kind."}</p>` : null}
    ${lines.length ? html`<${Table} isGrid label="Busiest lines" rows=${lines} keyOf=${(each) => each.id} columns=${[
      { label: "#", isNumber: true, show: (each) => each.id.split(".")[0] },
      { label: "Your line at which it mostly is", kind: "key", show: (each) => withoutUpload(each.value) },
      { label: "Of its samples", show: (each) => { const share = ofSubtask(shares, each.id.split(".")[0]); return html`<${Share} kind="busy" part=${share} text=${percent(share)} />`; } }]} />` : flame ? null : html`<p class="note">No line of yours stands out: it is mostly idle, or its stack has not been sampled yet.</p>`}<//>`;
}
