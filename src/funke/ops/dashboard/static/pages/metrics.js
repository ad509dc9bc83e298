// Anything else? Charts that the reader picks; the pick is in the address.
import { html, useEffect, useState } from "../view.js";
import { now, useData } from "../data.js";
import { pick } from "../router.js";
import { Answer, Empty, Icon, Shown } from "../parts.js";
import { metricsSentence, nameOf } from "../sentences.js";
import { bytes, count, duration, isNumber, moment, percent } from "../words.js";
import { Chart } from "../chart.js";

const MOST_POINTS = 900;
const MOST_CHARTS = 12;
const DEFAULTS = ["numRecordsInPerSecond", "numRecordsOutPerSecond", "busyTimeMsPerSecond", "backPressuredTimeMsPerSecond"];
const JOB_DEFAULTS = ["lastCheckpointDuration", "lastCheckpointFullSize", "numRestarts", "uptime"];
// What was seen while a page was open, by where it is of and its name: going to another page and back loses nothing.
const kept = new Map();

const isSummed = (name) => /(^|\.)num|Records|Bytes|Count/.test(name) && !/Usage|Lag|Watermark/.test(name);

function wordsFor(name) {
  if (/watermark$/i.test(name) && !/Lag/.test(name)) return (value) => moment(value);
  if (/TimeMsPerSecond$/.test(name)) return (value) => (isNumber(value) ? percent(value / 1000) : "–");
  if (/Usage$/.test(name)) return percent;
  if (/bytes|size|memory/i.test(name)) return /PerSecond$/.test(name) ? (value) => `${bytes(value)}/s` : bytes;
  if (/time|duration|lag|latency|uptime|downtime/i.test(name)) return duration;
  return /PerSecond$/.test(name) ? (value) => `${count(value)}/s` : count;
}

// Words that describe, such as the line at which a subtask mostly is, have no chart.
const isText = (name) => /(^|\.)(busiestLine|hottestKey|lastCheckpointExternalPath)$/.test(name);

// A long name may break where one of its words begins.
const breakable = (name) => name.split(/(?<=\.)|(?<=[a-z])(?=[A-Z])/).flatMap((part, index) => (index ? [html`<wbr />`, part] : [part]));

export function MetricsPage({ job, path, query }) {
  const nodes = job.plan.nodes;
  const scope = query.vertex ?? nodes.find((node) => node.inputs?.length)?.id ?? "job";
  const source = scope === "job" ? `${path}/metrics` : `${path}/vertices/${scope}/subtasks/metrics`;
  const names = useData(source);
  const [filter, setFilter] = useState("");
  const known = (names.value ?? []).map((each) => each.id).filter((name) => !isText(name)).sort();
  const defaults = (scope === "job" ? JOB_DEFAULTS : DEFAULTS).filter((name) => known.includes(name));
  const picked = (query.m === undefined ? defaults : query.m.split(",").filter(Boolean)).slice(0, MOST_CHARTS);
  const values = useData(picked.length ? `${source}?get=${picked.map(encodeURIComponent).join(",")}` : null);
  useEffect(() => { for (const each of values.value ?? []) keep(source, each, values.at); }, [values.value, values.at]);
  const change = (name) => pick({ vertex: scope, m: (picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name]).join(",") || "," });
  const found = known.filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
  return html`<${Shown} of=${names}>${() => html`<${Answer} ...${metricsSentence(picked.length, known.length)} />
    <div class="split"><div class="section picks">
      <label class="field"><span>Of</span><select value=${scope} onChange=${(event) => pick({ vertex: event.target.value, m: undefined })}><option value="job">the job</option>${nodes.map((node) => html`<option key=${node.id} value=${node.id}>${nameOf(node)}</option>`)}</select></label>
      <label class="field"><span>Metrics</span><input type="search" placeholder="Part of a name" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></label>
      <div class="side-list" role="group" aria-label="Metrics" tabindex="0">${found.slice(0, 300).map((name) => html`<label key=${name}><input type="checkbox" checked=${picked.includes(name)} disabled=${!picked.includes(name) && picked.length >= MOST_CHARTS} onChange=${() => change(name)} /><span>${breakable(name)}</span></label>`)}${found.length ? null : html`<p class="note">No metric is called that.</p>`}</div></div>
      ${picked.length ? html`<div class="charts">${picked.map((name) => html`<${MetricChart} key=${source + name} source=${source} name=${name} onClose=${() => change(name)} />`)}</div>` : html`<${Empty} title="No chart yet" text="Choose metrics at the side. Up to ${MOST_CHARTS} fit, and the address remembers them." />`}
    </div>`}<//>`;
}

// Times in charts are the service's, so that they can be held against logs.
function keep(source, entry, at) {
  const key = `${source} ${entry.id}`;
  const points = kept.get(key) ?? { times: [], values: [] };
  const time = at ? at + (now() - Date.now()) : now();
  if (points.times.at(-1) >= time - 200) return;
  points.times.push(time);
  points.values.push(entry);
  if (points.times.length > MOST_POINTS) { points.times.shift(); points.values.shift(); }
  kept.set(key, points);
}

function seriesOf(name, points) {
  const column = (key) => points.values.map((each) => each[key] ?? null);
  if (points.values[0] && "value" in points.values[0]) return [{ name, values: points.values.map((each) => (each.value === null || Number.isNaN(Number(each.value)) ? null : Number(each.value))) }];
  if (isSummed(name)) return [{ name: "of all subtasks", values: column("sum") }];
  return [{ name: "average", values: column("avg") }, { name: "most", values: column("max") }, { name: "least", values: column("min") }];
}

function MetricChart({ source, name, onClose }) {
  const points = kept.get(`${source} ${name}`) ?? { times: [], values: [] };
  const series = seriesOf(name, points);
  const show = wordsFor(name);
  return html`<figure class="chart"><div class="chart-head"><h2>${name}</h2><span class="now num" title=${String(series[0].values.at(-1) ?? "")}>${points.times.length ? show(series[0].values.at(-1)) : "–"}</span><button type="button" class="quiet icon-button" onClick=${onClose} aria-label=${`Remove ${name}`} title="Remove"><${Icon} name="close" size=${14} /></button></div>
    ${points.times.length ? html`<${Chart} times=${points.times} series=${series} show=${show} label=${name} top=${/TimeMsPerSecond$/.test(name) ? 1000 : /Usage$/.test(name) ? 1 : undefined} />` : html`<div class="plot" />`}
    <figcaption class="note">${series.length > 1 ? `average; most ${show(series[1].values.at(-1))} and least ${show(series[2].values.at(-1))} of the subtasks dashed` : series[0].name === name ? "of the job" : series[0].name}</figcaption></figure>`;
}
