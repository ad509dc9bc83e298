// When did it start, stop, restart?
import { html } from "../view.js";
import { now, useData } from "../data.js";
import { Answer, Section, Shown, isEnded, stateKind, stateWord } from "../parts.js";
import { nameOf, timelineSentence } from "../sentences.js";
import { clock, duration, moment } from "../words.js";

const MOST_SUBTASKS = 32;

export function TimelinePage({ job, path }) {
  const failures = useData(`${path}/exceptions`).value?.exceptionHistory.entries ?? [];
  const answer = useData(`${path.replace("/jobs/", "/funke/jobs/")}/timeline`);
  const nodes = job.plan.nodes;
  const until = isEnded(job.state) ? job["end-time"] : now();
  const span = { from: job["start-time"], until: Math.max(until, job["start-time"] + 1000) };
  return html`<${Shown} of=${answer}>${({ restarts, failures: number, statuses, subtasks }) => {
    const own = spansOf(statuses.map(({ status, since }) => [status, since]), until);
    const lanes = nodes.map((node) => ({ node, subtasks: bySubtask(subtasks.filter((each) => each.vertex === node.id), until) }));
    const kinds = new Set([...own, ...lanes.flatMap((lane) => lane.subtasks.flatMap((each) => each.spans))].map((each) => stateKind(each.state)));
    const marks = statuses.filter(({ status }) => status === "FAILING").map(({ since }) => since);
    return html`<${Answer} ...${timelineSentence(job, restarts, failures, number, now())} />
    <${Section} title="By subtask" aside=${html`<span class="legend">${[...kinds].map((kind) => html`<span key=${kind}><i class="swatch bar-${kind}" />${WORDS[kind] ?? kind}</span>`)}${marks.length ? html`<span><i class="swatch bar-failed" />a failure</span>` : null}</span>`}>
      <div class="panel timeline"><h3>Job</h3><span class="lane-name">${job.name}</span><${Lane} spans=${own} span=${span} marks=${marks} />
      ${lanes.map(({ node, subtasks: lines }) => html`<h3 key=${`${node.id}h`}>${nameOf(node)}</h3>${lines.slice(0, MOST_SUBTASKS).map((each) => html`<span class="lane-name" key=${`${node.id}n${each.subtask}`}>${each.subtask}${each.attempts > 1 ? ` · ${each.attempts} attempts` : ""}</span><${Lane} key=${`${node.id}l${each.subtask}`} spans=${each.spans} span=${span} />`)}
        ${lines.length > MOST_SUBTASKS ? html`<span class="lane-name">${lines.length - MOST_SUBTASKS} more</span><span />` : null}`)}
      <div class="axis"><span title=${moment(span.from)}>${clock(span.from)}</span><span>${duration(span.until - span.from)}</span><span title=${moment(span.until)}>${isEnded(job.state) ? clock(span.until) : "now"}</span></div></div>
    <//>`;
  }}<//>`;
}

const WORDS = { waiting: "starting", cancelled: "cancelled", restarting: "restarting", failed: "failed", running: "running", finished: "finished" };

// One line for each subtask: its attempts follow each other.
function bySubtask(entries, until) {
  const found = new Map();
  for (const each of [...entries].sort((a, b) => a.attempt - b.attempt)) found.set(each.subtask, [...(found.get(each.subtask) ?? []), each]);
  return [...found].sort(([a], [b]) => a - b).map(([subtask, attempts]) => ({
    subtask, attempts: attempts.length,
    spans: attempts.flatMap((each, index) => spansOf(Object.entries(each.timestamps), index < attempts.length - 1 ? Infinity : until).filter((one) => Number.isFinite(one.until))),
  }));
}

// From when a state was entered until the next one was.
function spansOf(entries, until) {
  const entered = entries.filter(([, at]) => at > 0).sort((a, b) => a[1] - b[1] || rank(a[0]) - rank(b[0]));
  return entered.map(([state, at], index) => ({ state, from: at, until: entered[index + 1]?.[1] ?? (isEnded(state) ? at : until) })).filter((each) => each.until > each.from || isEnded(each.state));
}
const ORDER = ["CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FAILING", "RESTARTING", "CANCELLING", "CANCELING", "FINISHED", "CANCELED", "FAILED"];
const rank = (state) => ORDER.indexOf(state);

function Lane({ spans: own, span, marks = [] }) {
  const at = (time) => (100 * Math.max(0, time - span.from)) / (span.until - span.from);
  const words = own.map((each) => `${stateWord(each.state)} ${duration(each.until - each.from)}`).join(", ");
  return html`<span class="lane" role="img" aria-label=${words || "nothing yet"}>${own.map((each) => html`<i key=${`${each.state}${each.from}`} class="bar-${stateKind(each.state)}" style=${`left:${Math.min(99.7, at(each.from))}%;width:${Math.max(0, at(each.until) - at(each.from))}%`} title=${`${stateWord(each.state)} from ${moment(each.from)}, ${duration(each.until - each.from)}`} />`)}${marks.filter((time) => time >= span.from).map((time) => html`<i key=${time} class="marker" style=${`left:${at(time)}%`} title=${`failure at ${moment(time)}`} />`)}</span>`;
}
