// Is anything wrong?
import { html } from "../view.js";
import { now, reload, request, useData } from "../data.js";
import { href } from "../router.js";
import { Answer, Empty, Num, Section, Share, Shown, Status, Table, isEnded } from "../parts.js";
import { ago, coarse, count, duration, isNumber, moment, percent, plural, rate } from "../words.js";

const PATH = "/funke/jobs/overview";

// Rates, lag, pressure and alarm of each job, by its id; and the sentence about all of them.
export function useOutlook() {
  const answer = useData(PATH);
  return { answer, of: Object.fromEntries((answer.value?.jobs ?? []).map((each) => [each.jid, each])) };
}

// The worst first.
const urgency = (alarm) => (!alarm || alarm.acknowledged || alarm["is-faded"] ? 0 : alarm.level === "bad" ? 2 : 1);

export function OverviewPage({ mainRef }) {
  const list = useData("/jobs/overview");
  const overview = useData("/overview").value;
  const { answer, of } = useOutlook();
  const jobs = list.value?.jobs ?? [];
  const at = now();
  const isService = (job) => of[job.jid]?.origin !== "command line" || !jobs.some((each) => of[each.jid]?.origin === "service");
  const running = jobs.filter((job) => !isEnded(job.state)).sort((a, b) => urgency(of[b.jid]?.alarm) - urgency(of[a.jid]?.alarm) || b["start-time"] - a["start-time"]);
  const ended = jobs.filter((job) => isEnded(job.state)).sort((a, b) => b["end-time"] - a["end-time"]);
  const own = running.filter((job) => !isService(job));
  const answerOf = ({ level, sentence }) => html`<${Answer} level=${level} text=${sentence} />`;
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${list}>${() => html`
    <${Shown} of=${answer} rows=${1}>${answerOf}<//>
    ${overview ? html`<${Figures} overview=${overview} />` : null}
    ${jobs.length === 0 ? html`<${Empty} title="Nothing has run yet" text="Submit a program, and it appears here." command="funke run -d -py job.py" />` : html`
      <${Section} title="Running"><${Table} label="Running jobs" rows=${running.filter(isService)} keyOf=${(job) => job.jid} columns=${runningColumns(of, at)} empty=${html`<${Empty} title="No job runs" text="The last ones are below. This starts another:" command="funke run -d -py job.py" />`} /><//>
      ${own.length ? html`<${Section} title="Run from a command line" aside="not by the service"><${Table} label="Jobs run from a command line" rows=${own} keyOf=${(job) => job.jid} columns=${runningColumns(of, at)} /><//>` : null}
      ${ended.length ? html`<${Section} title="Ended last" aside=${html`<a href="#/jobs">all ${plural(jobs.length, "job")}</a>`}><${Table} label="Jobs that have ended" rows=${ended.slice(0, 8)} keyOf=${(job) => job.jid} columns=${endedColumns(of, at)} /><//>` : null}`}
  `}<//></main>`;
}

function Figures({ overview }) {
  const total = overview["slots-total"];
  const used = total - overview["slots-available"];
  return html`<div class="facts big">${[
    ["Running", overview["jobs-running"]], ["Finished", overview["jobs-finished"]], ["Cancelled", overview["jobs-cancelled"]], ["Failed", overview["jobs-failed"]],
    ["Slots in use", html`${used} <span class="small muted">of ${total}</span>`], ["Workers", overview.taskmanagers],
  ].map(([name, value]) => html`<div key=${name}><dl><dt>${name}</dt><dd>${value}</dd></dl></div>`)}</div>`;
}

async function acknowledge(job, isSeen) {
  await request(`/funke/jobs/${job.jid}/alarm`, { method: "PUT", body: { acknowledged: isSeen } });
  await reload(PATH);
}

function Why({ job, alarm, at }) {
  if (!alarm) return null;
  const isQuiet = alarm.acknowledged || alarm["is-faded"];
  return html`<span class=${`why ${isQuiet ? "quiet-why" : alarm.level === "bad" ? "bad-why" : ""}`}>${alarm.text}</span>
    ${alarm["is-faded"] ? null : alarm.acknowledged
      ? html`<span class="small muted">seen ${ago(alarm.acknowledged, at)} · <button type="button" class="link" onClick=${() => acknowledge(job, false)}>Alarm again</button></span>`
      : html`<button type="button" class="link small" aria-label=${`Acknowledge the alarm of ${job.name}`} onClick=${() => acknowledge(job, true)}>Acknowledge</button>`}`;
}

const nameColumn = (of, at) => ({ label: "Job", isLink: true, kind: "wide", show: (job) => { const alarm = of[job.jid]?.alarm; return html`<a href=${href(["jobs", job.jid, alarm?.page ?? "graph"], { vertex: alarm?.page === "graph" ? alarm.vertex : undefined })}>${job.name}</a><${Why} job=${job} alarm=${alarm} at=${at} />`; } });
const stateColumn = { label: "State", kind: "tight", show: (job) => html`<${Status} state=${job.state} />` };
const startedColumn = (at) => ({ label: "Started", isNumber: true, show: (job) => html`<time title=${moment(job["start-time"])}>${ago(job["start-time"], at)}</time>` });
const rateColumn = (of) => ({ label: "Reads", isNumber: true, title: "records per second that its sources emit", show: (job) => html`<${Num} value=${of[job.jid]?.["records-per-second"]} as=${rate} unit="records/s" />` });
const lagColumn = (of) => ({ label: "Behind", isNumber: true, title: "how far event time is behind the clock; records that wait in the source", show: (job) => html`<${Behind} entry=${of[job.jid]} />` });
const pressureColumn = (of) => ({ label: "Busiest", title: "of its operators: how much of the time it is busy", show: (job) => { const { busy, backpressured } = of[job.jid] ?? {}; return isNumber(busy) ? html`<span title=${`backpressured at most ${percent(backpressured)}`}><${Share} kind=${backpressured > 0.1 ? "back" : "busy"} part=${busy} text=${percent(busy)} /></span>` : html`<span class="muted">–</span>`; } });
const checkpointColumn = (of, at) => ({ label: "Last checkpoint", isNumber: true, show: (job) => { const last = of[job.jid]?.["last-checkpoint"]; return last ? html`<a href=${href(["jobs", job.jid, "checkpoints"])} title=${moment(last)}>${ago(last, at)}</a>` : html`<span class="muted">none</span>`; } });
const failuresColumn = (of) => ({ label: "Failures", isNumber: true, show: (job) => { const number = of[job.jid]?.failures ?? 0; return number ? html`<a href=${href(["jobs", job.jid, "exceptions"])}>${count(number)}</a>` : html`<span class="muted">0</span>`; } });
const kindColumn = { label: "Kind", kind: "tight", show: (job) => html`<span class="muted">${job.jobType?.toLowerCase()}</span>` };

function Behind({ entry }) {
  if (isNumber(entry?.lag)) return html`<${Num} value=${entry.lag} as=${coarse} unit="ms" />${entry.pending > 0 ? html`<br /><span class="small muted">${count(entry.pending)} wait</span>` : null}`;
  return entry?.pending > 0 ? html`<${Num} value=${entry.pending} as=${(value) => `${count(value)} wait`} unit="records" />` : html`<span class="muted">–</span>`;
}

const runningColumns = (of, at) => [nameColumn(of, at), stateColumn, rateColumn(of), lagColumn(of), pressureColumn(of), checkpointColumn(of, at), failuresColumn(of), startedColumn(at)];
export const endedColumns = (of, at) => [nameColumn(of, at), stateColumn, kindColumn,
  { label: "Run by", kind: "tight", show: (job) => html`<span class="muted">${of[job.jid]?.origin ?? ""}</span>` },
  { label: "Ran for", isNumber: true, show: (job) => html`<${Num} value=${job.duration} as=${duration} unit="ms" />` },
  { label: "Ended", isNumber: true, show: (job) => html`<time title=${moment(job["end-time"])}>${isEnded(job.state) ? ago(job["end-time"], at) : "–"}</time>` }, startedColumn(at)];
