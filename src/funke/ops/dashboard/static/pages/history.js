// When did it begin? The last hour, with what happened meanwhile on the axis of time.
import { html } from "../view.js";
import { useData } from "../data.js";
import { Answer, Empty, Section, Shown, Table } from "../parts.js";
import { historySentence } from "../sentences.js";
import { bytes, clock, coarse, count, duration, isNumber, moment, percent, rate } from "../words.js";
import { Chart } from "../chart.js";

const CHARTS = [
  ["Records read", ["records-in"], rate, ["of all sources"]],
  ["Behind the clock", ["lag"], (value) => (isNumber(value) ? coarse(value) : "–"), ["event time of the operator that is furthest behind"]],
  ["Records that wait in the source", ["pending"], count, ["of all partitions"]],
  ["Busy and backpressured", ["busy", "backpressured"], percent, ["busiest operator", "most backpressured one, dashed"]],
  ["Records taken by sinks", ["records-out"], rate, ["of all sinks"]],
  ["Duration of the last checkpoint", ["checkpoint-duration"], duration, ["from the trigger to its completion"]],
  ["State", ["state"], bytes, ["as of the last checkpoint"]],
  ["Memory of slots", ["memory"], bytes, ["of all slots"]],
];
const MOST_EVENTS = 40;

export function HistoryPage({ path }) {
  const answer = useData(`${path.replace("/jobs/", "/funke/jobs/")}/history`);
  return html`<${Shown} of=${answer} rows=${6}>${(history) => html`<${Answer} ...${historySentence(history)} />
    ${history.times.length ? html`<div class="charts">${CHARTS.filter(([, names]) => names.some((name) => history.series[name]?.some(isNumber))).map(([title, names, show, words]) => html`<${HistoryChart} key=${title} title=${title} names=${names} show=${show} words=${words} history=${history} />`)}</div>
    <p class="note legend marker-legend"><span><i class="mark-deployed" />deployed</span><span><i class="mark-failed" />failed</span><span><i class="mark-restarted" />running again</span><span><i class="mark-savepoint" />savepoint</span><span><i class="mark-checkpoint" />checkpoint, a tick</span></p>
    <${Events} markers=${history.markers} />` : html`<${Empty} title="Nothing was kept of this job" text="The service looks at running jobs every ten seconds and keeps an hour of it." />`}`}<//>`;
}

function HistoryChart({ title, names, show, words, history }) {
  const series = names.map((name, index) => ({ name: words[index], values: history.series[name] }));
  const last = series[0].values.findLast(isNumber);
  return html`<figure class="chart"><div class="chart-head"><h2>${title}</h2><span class="now num" title=${String(last ?? "")}>${show(last)}</span></div>
    <${Chart} times=${history.times} series=${series} show=${show} label=${title} top=${names[0] === "busy" ? 1 : undefined} markers=${history.markers} />
    <figcaption class="note">${words.join("; ")}</figcaption></figure>`;
}

function Events({ markers }) {
  const rows = markers.filter(({ kind }) => kind !== "checkpoint").slice(-MOST_EVENTS).toReversed();
  return html`<${Section} title="What happened"><${Table} isGrid label="What happened" rows=${rows} columns=${[
    { label: "At", kind: "tight", show: (each) => html`<time title=${moment(each.at)}>${clock(each.at)}</time>` },
    { label: "What", kind: "wide", show: (each) => each.text }]} empty=${html`<p class="note">Nothing but checkpoints.</p>`} /><//>`;
}
