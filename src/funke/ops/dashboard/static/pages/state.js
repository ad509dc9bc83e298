// What does it remember?
import { html } from "../view.js";
import { now, useAll, useData, useOffers } from "../data.js";
import { Answer, Empty, Num, Section, Share, Shown, Table } from "../parts.js";
import { nameOf, stateSentence } from "../sentences.js";
import { ago, bytes, count, isNumber, moment, percent } from "../words.js";
import { Chart } from "../chart.js";

export function StatePage({ job, path }) {
  const measured = useData(useOffers("/funke/jobs/{jobid}/state") ? `/funke${path}/state` : null);
  const answer = useData(`${path}/checkpoints`);
  // Null: not measured for this job.
  if (measured.value?.operators) return html`<${Measured} state=${measured.value} />`;
  return html`<${Shown} of=${answer}>${(checkpoints) => html`<${FromCheckpoint} job=${job} path=${path} checkpoints=${checkpoints} />`}<//>`;
}

function growthOf(points) {
  if (points.length < 2) return null;
  const [first, last] = [points[0], points.at(-1)];
  // What happens within seconds says nothing about an hour.
  return last.at - first.at >= 30_000 ? ((last.bytes - first.bytes) * 3_600_000) / (last.at - first.at) : null;
}

function Measured({ state }) {
  const rows = state.operators.flatMap((operator) => operator.states.map((each) => ({ ...each, operator: operator.name, key: `${operator.operator}.${each.name}` }))).sort((a, b) => b.bytes - a.bytes);
  const total = rows.reduce((sum, each) => sum + each.bytes, 0);
  const largest = rows[0] ? { name: `“${rows[0].name}” of “${rows[0].operator}”`, bytes: rows[0].bytes } : null;
  const points = state.history ?? [];
  return html`<${Answer} ...${stateSentence(total, largest, growthOf(points), state.at, now())} />
    <${Section} title="By operator and name"><${Table} label="State by operator and name" rows=${rows} keyOf=${(each) => each.key} columns=${[
      { label: "State", kind: "wide", show: (each) => html`<b>${each.name}</b>` }, { label: "Operator", show: (each) => each.operator }, { label: "Kind", kind: "tight", show: (each) => html`<span class="muted">${each.kind}</span>` },
      { label: "Bytes", show: (each) => html`<${Share} part=${each.bytes / (rows[0].bytes || 1)} text=${bytes(each.bytes)} />` },
      { label: "Entries", isNumber: true, show: (each) => html`<${Num} value=${each.entries} as=${count} />` },
      { label: "Per entry", isNumber: true, show: (each) => (each.entries ? bytes(each.bytes / each.entries) : "–") }]} empty=${html`<${Empty} title="No state" text="No operator of this job keeps any." />`} /><//>
    <${Growth} points=${points} />`;
}

const Growth = ({ points }) => points.length > 1 ? html`<${Section} title="Over time"><div class="chart"><${Chart} times=${points.map((each) => each.at)} series=${[{ name: "bytes", values: points.map((each) => each.bytes) }]} show=${bytes} /></div><//>` : null;

// Without figures by name: what checkpoints hold, by slot, or by vertex where slots are not distinguished.
function FromCheckpoint({ job, path, checkpoints }) {
  const last = [checkpoints.latest.completed, checkpoints.latest.savepoint].filter(Boolean).sort((a, b) => b.id - a.id)[0];
  const points = checkpoints.history.filter((each) => each.status === "COMPLETED").map((each) => ({ at: each.trigger_timestamp, bytes: each.state_size })).sort((a, b) => a.at - b.at);
  const nodes = job.plan.nodes;
  const answers = useAll(last ? nodes.map(({ id }) => `${path}/checkpoints/details/${last.id}/subtasks/${id}`) : []);
  const rows = last ? piecesOf(nodes, answers, `${path}/checkpoints/details/${last.id}/subtasks/`) : [];
  const sum = rows.reduce((all, each) => all + each.bytes, 0);
  const total = last ? last.state_size : null;
  const most = Math.max(1, ...rows.map((each) => each.bytes));
  const largest = rows.length > 1 && sum ? { name: rows[0].name, bytes: (rows[0].bytes * total) / sum } : null;
  return html`<${Answer} ...${stateSentence(total, largest, growthOf(points), last?.latest_ack_timestamp, now())} />
    ${last ? html`<${Section} title=${rows[0]?.isSlot ? "By slot" : "By vertex"} aside=${html`checkpoint ${last.id}, <time title=${moment(last.trigger_timestamp)}>${ago(last.trigger_timestamp, now())}</time>`}><${Table} label="State sizes" rows=${rows} keyOf=${(each) => each.name} columns=${[
      { label: rows[0]?.isSlot ? "Slot" : "Vertex", kind: "tight", show: (each) => html`<b>${each.name}</b>` },
      { label: "Size", show: (each) => html`<${Share} part=${each.bytes / most} text=${bytes(each.bytes)} />` },
      { label: "Of all", isNumber: true, show: (each) => percent(sum ? each.bytes / sum : 0) },
      { label: "Operators in it", kind: "wide", show: (each) => html`<span class="muted">${each.holds}</span>` }]} empty=${html`<p class="note">The checkpoint does not tell who wrote what.</p>`} /><p class="note">From the last checkpoint: what a slot has written is of all its operators together.</p><//>
      <${Growth} points=${points} />` : html`<${Empty} title="No checkpoint yet" text="Sizes are known once a checkpoint or savepoint is complete." command=${`funke savepoint ${job.jid}`} />`}`;
}

function piecesOf(nodes, answers, prefix) {
  const slots = new Map();
  const vertices = [];
  for (const node of nodes) {
    const subtasks = answers[prefix + node.id]?.value?.subtasks ?? [];
    for (const each of subtasks) {
      if (!isNumber(each.slot)) continue;
      const slot = slots.get(each.slot) ?? { name: `slot ${each.slot}`, isSlot: true, bytes: each.state_size, operators: new Set() };
      slot.operators.add(nameOf(node));
      slots.set(each.slot, slot);
    }
    if (subtasks.length) vertices.push({ name: nameOf(node), bytes: subtasks.reduce((sum, each) => sum + each.state_size, 0), holds: `${subtasks.length} subtasks` });
  }
  const found = slots.size ? [...slots.values()].map((slot) => ({ ...slot, holds: [...slot.operators].join(", ") })) : vertices;
  return found.sort((a, b) => b.bytes - a.bytes);
}
