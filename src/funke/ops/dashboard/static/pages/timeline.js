// When did it start, stop, restart?
import { html } from "../view.js";
import { now, useAll, useData } from "../data.js";
import { Answer, Section, Skeleton, isEnded, stateKind, stateWord } from "../parts.js";
import { nameOf, timelineSentence } from "../sentences.js";
import { clock, duration, moment } from "../words.js";

const MOST_SUBTASKS = 32;

export function TimelinePage({ job, path }) {
  const failures = useData(`${path}/exceptions`).value?.exceptionHistory.entries ?? [];
  const restarts = Number(useData(`${path}/metrics?get=numRestarts`).value?.[0]?.value ?? 0);
  const nodes = job.plan.nodes;
  const times = useAll(nodes.map(({ id }) => `${path}/vertices/${id}/subtasktimes`));
  const from = job["start-time"];
  const until = isEnded(job.state) ? job["end-time"] : now();
  const span = { from, until: Math.max(until, from + 1000) };
  const own = spans(job.timestamps, until);
  const lanes = nodes.map((node) => ({ node, subtasks: times[`${path}/vertices/${node.id}/subtasktimes`]?.value?.subtasks }));
  const used = [...new Set([...own, ...lanes.flatMap(({ subtasks }) => (subtasks ?? []).flatMap((each) => spans(each.timestamps, until)))].map((each) => each.state))];
  return html`<${Answer} ...${timelineSentence(job, restarts, failures, now())} />
    <${Section} title="By subtask" aside=${html`<span class="legend">${[...new Set(used.map(stateKind))].map((kind) => html`<span key=${kind}><i class="swatch bar-${kind}" />${kind === "waiting" ? "starting" : used.filter((state) => stateKind(state) === kind).map(stateWord).join(", ")}</span>`)}${failures.length ? html`<span><i class="swatch bar-failed" />a failure</span>` : null}</span>`}>
      <div class="panel timeline"><h3>Job</h3><span class="lane-name">${job.name}</span><${Lane} spans=${own} span=${span} marks=${failures.map((each) => each.timestamp)} />
      ${lanes.map(({ node, subtasks }) => html`<h3 key=${`${node.id}h`}>${nameOf(node)}</h3>${subtasks ? subtasks.slice(0, MOST_SUBTASKS).map((each) => html`<span class="lane-name" key=${`${node.id}n${each.subtask}`} title=${each.endpoint}>${each.subtask} · ${each.endpoint}</span><${Lane} key=${`${node.id}l${each.subtask}`} spans=${spans(each.timestamps, until)} span=${span} />`) : html`<${Skeleton} rows=${1} />`}
        ${subtasks?.length > MOST_SUBTASKS ? html`<span class="lane-name">${subtasks.length - MOST_SUBTASKS} more</span><span />` : null}`)}
      <div class="axis"><span title=${moment(span.from)}>${clock(span.from)}</span><span>${duration(span.until - span.from)}</span><span title=${moment(span.until)}>${isEnded(job.state) ? clock(span.until) : "now"}</span></div></div>
    <//>`;
}

// From when a state was entered until the next one was.
function spans(timestamps, until) {
  const entered = Object.entries(timestamps).filter(([, at]) => at > 0).sort((a, b) => a[1] - b[1] || rank(a[0]) - rank(b[0]));
  return entered.map(([state, at], index) => ({ state, from: at, until: entered[index + 1]?.[1] ?? (isEnded(state) ? at : until) })).filter((each) => each.until > each.from || isEnded(each.state));
}
const ORDER = ["CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FAILING", "RESTARTING", "CANCELLING", "CANCELING", "FINISHED", "CANCELED", "FAILED"];
const rank = (state) => ORDER.indexOf(state);

function Lane({ spans: own, span, marks = [] }) {
  const at = (time) => (100 * Math.max(0, time - span.from)) / (span.until - span.from);
  const words = own.map((each) => `${stateWord(each.state)} ${duration(each.until - each.from)}`).join(", ");
  return html`<span class="lane" role="img" aria-label=${words || "nothing yet"}>${own.map((each) => html`<i key=${each.state} class="bar-${stateKind(each.state)}" style=${`left:${Math.min(99.7, at(each.from))}%;width:${Math.max(0, at(each.until) - at(each.from))}%`} title=${`${stateWord(each.state)} from ${moment(each.from)}, ${duration(each.until - each.from)}`} />`)}${marks.filter((time) => time >= span.from).map((time) => html`<i key=${time} class="marker" style=${`left:${at(time)}%`} title=${`failure at ${moment(time)}`} />`)}</span>`;
}
