// One job: its head with what can be done to it, and its pages.
import { html, useState } from "../view.js";
import { now, useData } from "../data.js";
import { href } from "../router.js";
import { Copy, Failed, Num, Skeleton, Status, isEnded, useCurrentInSight } from "../parts.js";
import { coarse, duration, moment } from "../words.js";
import { ActionDialog } from "./actions.js";
import { GraphPage } from "./graph.js";
import { CheckpointsPage } from "./checkpoints.js";
import { ExceptionsPage } from "./exceptions.js";
import { TimelinePage } from "./timeline.js";
import { StatePage } from "./state.js";
import { HistoryPage } from "./history.js";
import { MetricsPage } from "./metrics.js";
import { JobLogsPage } from "./logs.js";
import { SqlPage } from "./sql.js";
import { JobConfigurationPage } from "./configuration.js";

export const TABS = [
  ["graph", "Graph", GraphPage],
  ["checkpoints", "Checkpoints", CheckpointsPage],
  ["exceptions", "Exceptions", ExceptionsPage],
  ["timeline", "Timeline", TimelinePage],
  ["state", "State", StatePage],
  ["history", "History", HistoryPage],
  ["metrics", "Metrics", MetricsPage],
  ["sql", "SQL", SqlPage],
  ["logs", "Logs", JobLogsPage],
  ["configuration", "Configuration", JobConfigurationPage],
];

export function JobPage({ route, mainRef }) {
  const [, jobId, tab = "graph"] = route.parts;
  const path = `/jobs/${encodeURIComponent(jobId)}`;
  const answer = useData(path);
  const features = useData("/config").value?.features;
  const [action, setAction] = useState(null);
  const job = answer.value;
  const Page = (TABS.find(([name]) => name === tab) ?? TABS[0])[2];
  if (!job) return html`<main id="main" tabindex="-1" ref=${mainRef}>${answer.error ? html`<${Failed} error=${answer.error} /><p><a href="#/jobs">All jobs that are known</a></p>` : html`<${Skeleton} rows=${6} />`}</main>`;
  return html`<${Head} job=${job} tab=${tab} features=${features} onAction=${setAction} />
    <main id="main" tabindex="-1" ref=${mainRef}><${Page} key=${tab} job=${job} path=${path} query=${route.query} /></main>
    ${action ? html`<${ActionDialog} key=${action} action=${action} job=${job} path=${path} onClose=${() => setAction(null)} />` : null}`;
}

function Head({ job, tab, features, onAction }) {
  const hasEnded = isEnded(job.state);
  const canCancel = !hasEnded && features?.["web-cancel"] !== false;
  const tabs = useCurrentInSight(tab);
  const parallelism = Math.max(0, ...job.vertices.map((vertex) => vertex.parallelism));
  return html`<div class="job-head">
    <div class="job-title"><span class="job-name">${job.name}</span><${Status} state=${job.state} />
      ${hasEnded ? null : html`<div class="actions">
        <button type="button" onClick=${() => onAction("savepoint")} disabled=${job.state !== "RUNNING"}>Savepoint</button>
        ${features?.["web-rescale"] ? html`<button type="button" onClick=${() => onAction("rescale")} disabled=${job.state !== "RUNNING"}>Rescale</button>` : null}
        <button type="button" onClick=${() => onAction("stop")} disabled=${job.state !== "RUNNING"}>Stop</button>
        ${canCancel ? html`<button type="button" class="danger" onClick=${() => onAction("cancel")}>Cancel</button>` : null}
      </div>`}</div>
    <div class="job-meta"><span><code>${job.jid}</code><${Copy} text=${job.jid} label="Copy the job's id" /></span>
      <span>${job["job-type"]?.toLowerCase()}</span>${parallelism ? html`<span>parallelism ${parallelism}</span>` : null}
      <span title=${moment(job["start-time"])}>started ${coarse(now() - job["start-time"])} ago</span>
      ${hasEnded ? html`<span title=${moment(job["end-time"])}>ran for <${Num} value=${job.duration} as=${duration} unit="ms" /></span><span>from its history</span>` : null}</div>
    <nav class="nav tabs" ref=${tabs} aria-label="Pages of the job">${TABS.map(([name, title]) => html`<a key=${name} href=${href(["jobs", job.jid, name])} aria-current=${name === tab ? "page" : undefined}>${title}</a>`)}</nav>
  </div>`;
}
