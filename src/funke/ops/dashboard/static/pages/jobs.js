// All jobs that are known, running and ended.
import { html } from "../view.js";
import { now, useData } from "../data.js";
import { pick } from "../router.js";
import { Answer, Empty, Section, Shown, Table, isEnded } from "../parts.js";
import { jobsSentence } from "../sentences.js";
import { endedColumns, useOutlook } from "./overview.js";

const FILTERS = [["", "all"], ["running", "running"], ["FINISHED", "finished"], ["CANCELED", "cancelled"], ["FAILED", "failed"]];
const isOf = (job, filter) => !filter || (filter === "running" ? !isEnded(job.state) : job.state === filter);

export function JobsPage({ route, mainRef }) {
  const list = useData("/jobs/overview");
  const jobs = list.value?.jobs ?? [];
  const { of } = useOutlook();
  const { state = "", q = "" } = route.query;
  const found = jobs.filter((job) => isOf(job, state) && `${job.name} ${job.jid}`.toLowerCase().includes(q.toLowerCase())).sort((a, b) => b["start-time"] - a["start-time"]);
  const shown = found.slice(0, 200);
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${list} rows=${8}>${() => html`
    <${Answer} ...${jobsSentence(jobs, shown, now())} />
    ${jobs.length === 0 ? html`<${Empty} title="Nothing has run yet" text="Submit a program, and it appears here." command="funke run -d -py job.py" />` : html`
    <${Section} title="Jobs" aside=${html`<input type="search" aria-label="Only jobs whose name has" placeholder="Name or id" value=${q} onInput=${(event) => pick({ q: event.target.value })} />`}>
      <div class="filters" role="group" aria-label="Only jobs that are">${FILTERS.map(([value, word]) => html`<button key=${word} type="button" aria-pressed=${String(state === value)} onClick=${() => pick({ state: value })}>${word} ${jobs.filter((job) => isOf(job, value)).length}</button>`)}</div>
      <${Table} label="Jobs" rows=${shown} keyOf=${(job) => job.jid} columns=${endedColumns(of, now())} empty=${html`<${Empty} title="No job is like that" text="Change the filter or the name above." />`} />
    <//>`}
  `}<//></main>`;
}
