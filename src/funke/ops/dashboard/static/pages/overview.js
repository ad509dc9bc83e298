// Is anything wrong?
import { html } from "../view.js";
import { now, useAll, useData } from "../data.js";
import { href } from "../router.js";
import { Answer, Empty, Num, Section, Shown, Status, Table, isEnded } from "../parts.js";
import { needs, overviewSentence } from "../sentences.js";
import { ago, count, duration, moment, plural } from "../words.js";

// Of so many running jobs it is asked how their checkpoints do.
const MOST_WATCHED = 12;

export function useTroubles(jobs) {
  const running = jobs.filter((job) => !isEnded(job.state)).slice(0, MOST_WATCHED);
  const failed = jobs.filter((job) => job.state === "FAILED" && now() - job["end-time"] < 86_400_000).slice(-4);
  const answers = useAll([...running.flatMap(({ jid }) => [`/jobs/${jid}/checkpoints`, `/jobs/${jid}/checkpoints/config`]), ...[...running, ...failed].map(({ jid }) => `/jobs/${jid}/exceptions`)]);
  return Object.fromEntries([...running, ...failed].map(({ jid }) => [jid, {
    checkpoints: answers[`/jobs/${jid}/checkpoints`]?.value,
    settings: answers[`/jobs/${jid}/checkpoints/config`]?.value,
    failures: answers[`/jobs/${jid}/exceptions`]?.value,
  }]));
}

export function OverviewPage({ mainRef }) {
  const list = useData("/jobs/overview");
  const overview = useData("/overview").value;
  const jobs = list.value?.jobs ?? [];
  const seen = useTroubles(jobs);
  const at = now();
  const running = jobs.filter((job) => !isEnded(job.state)).sort((a, b) => Number(Boolean(needs(b, seen[b.jid], at))) - Number(Boolean(needs(a, seen[a.jid], at))) || b["start-time"] - a["start-time"]);
  const ended = jobs.filter((job) => isEnded(job.state)).sort((a, b) => b["end-time"] - a["end-time"]);
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${list}>${() => html`
    <${Answer} ...${overviewSentence(jobs, seen, at)} />
    ${overview ? html`<${Figures} overview=${overview} />` : null}
    ${jobs.length === 0 ? html`<${Empty} title="Nothing has run yet" text="Submit a program, and it appears here." command="funke run -d -py job.py" />` : html`
      <${Section} title="Running"><${Table} label="Running jobs" rows=${running} keyOf=${(job) => job.jid} columns=${runningColumns(seen, at)} empty=${html`<${Empty} title="No job runs" text="The last ones are below. This starts another:" command="funke run -d -py job.py" />`} /><//>
      ${ended.length ? html`<${Section} title="Ended last" aside=${html`<a href="#/jobs">all ${plural(jobs.length, "job")}</a>`}><${Table} label="Jobs that have ended" rows=${ended.slice(0, 8)} keyOf=${(job) => job.jid} columns=${endedColumns(seen, at)} /><//>` : null}`}
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

export const nameColumn = (seen, at) => ({ label: "Job", isLink: true, kind: "wide", show: (job) => { const why = needs(job, seen[job.jid], at); return html`<a href=${href(["jobs", job.jid, why && isEnded(job.state) ? "exceptions" : "graph"])}>${job.name}</a>${why ? html`<span class="why">${why}</span>` : null}`; } });
const stateColumn = { label: "State", kind: "tight", show: (job) => html`<${Status} state=${job.state} />` };
const tasksColumn = { label: "Tasks", isNumber: true, title: "running of all", show: (job) => html`<span title=${taskWords(job.tasks)}>${job.tasks.running} of ${job.tasks.total}</span>` };
const taskWords = (tasks) => Object.entries(tasks).filter(([name, number]) => name !== "total" && number).map(([name, number]) => `${number} ${name}`).join(", ") || "no tasks";
const startedColumn = (at) => ({ label: "Started", isNumber: true, show: (job) => html`<time title=${moment(job["start-time"])}>${ago(job["start-time"], at)}</time>` });
const checkpointColumn = (seen, at) => ({ label: "Last checkpoint", isNumber: true, show: (job) => { const last = seen[job.jid]?.checkpoints?.latest?.completed; return last ? html`<a href=${href(["jobs", job.jid, "checkpoints"])} title=${moment(last.latest_ack_timestamp)}>${ago(last.latest_ack_timestamp, at)}</a>` : html`<span class="muted">none</span>`; } });
const restartsColumn = (seen) => ({ label: "Failures", isNumber: true, show: (job) => { const number = seen[job.jid]?.failures?.exceptionHistory?.entries?.length ?? 0; return number ? html`<a href=${href(["jobs", job.jid, "exceptions"])}>${count(number)}</a>` : html`<span class="muted">0</span>`; } });
const kindColumn = { label: "Kind", kind: "tight", show: (job) => html`<span class="muted">${job.jobType?.toLowerCase()}</span>` };

const runningColumns = (seen, at) => [nameColumn(seen, at), stateColumn, kindColumn, tasksColumn, checkpointColumn(seen, at), restartsColumn(seen), startedColumn(at)];
export const endedColumns = (seen, at) => [nameColumn(seen, at), stateColumn, kindColumn,
  { label: "Ran for", isNumber: true, show: (job) => html`<${Num} value=${job.duration} as=${duration} unit="ms" />` },
  { label: "Ended", isNumber: true, show: (job) => html`<time title=${moment(job["end-time"])}>${isEnded(job.state) ? ago(job["end-time"], at) : "–"}</time>` }, startedColumn(at)];
