// Who works where?
import { html, useState } from "../view.js";
import { now, request, useAll, useData } from "../data.js";
import { href, pick } from "../router.js";
import { Answer, Empty, Failed, Section, Share, Shown, Table } from "../parts.js";
import { hostOf, workersSentence } from "../sentences.js";
import { ago, bytes, isNumber, rate } from "../words.js";

const RATES = "numRecordsInPerSecond,numRecordsOutPerSecond";
const USED = "Status.JVM.Memory.Heap.Used";
const MOST_ASKED = 24;

export function WorkersPage({ route, mainRef }) {
  const answer = useData("/taskmanagers");
  const overview = useData("/overview").value;
  const jobs = useData("/jobs/overview").value?.jobs ?? [];
  const workers = answer.value?.taskmanagers ?? [];
  const figures = useAll(workers.slice(0, MOST_ASKED).map(({ id }) => metricsPath(id)));
  const chosen = workers.find(({ id }) => id === route.query.worker);
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${answer}>${() => html`
    <${Answer} ...${workersSentence(workers, overview)} />
    <${Table} label="Workers" rows=${workers} keyOf=${(each) => each.id} isOpen=${(each) => each.id === chosen?.id} onOpen=${(each) => pick({ worker: each.id === chosen?.id ? "" : each.id })} columns=${columns(jobs, figures)}
      empty=${html`<${Empty} title="No worker runs" text="Spark starts workers for a job, and they end with it." command="funke run -d -py job.py" />`} />
    ${chosen ? html`<${Memory} worker=${chosen} /><${Threads} key=${chosen.id} worker=${chosen} />` : workers.length ? html`<p class="note">Choose a worker to see how its memory is divided, and what its threads do.</p>` : null}
  `}<//></main>`;
}

const metricsPath = (id) => `/taskmanagers/${encodeURIComponent(id)}/metrics?get=${RATES},${USED}`;

function columns(jobs, figures) {
  const figure = (each, name) => { const text = figures[metricsPath(each.id)]?.value?.find(({ id }) => id === name)?.value; return text === undefined ? undefined : Number(text); };
  const used = (each) => figure(each, USED);
  const limit = (each) => each.memoryConfiguration?.totalProcessMemory || each.memoryConfiguration?.totalFlinkMemory;
  return [
    { label: "Worker", kind: "wide", show: (each) => html`<b>${hostOf(each)}</b><br /><code class="muted">${each.id}</code>` },
    { label: "Job", show: (each) => { const job = jobs.find(({ jid }) => jid === each.jobId); return job ? html`<a href=${href(["jobs", job.jid])}>${job.name}</a>` : "–"; } },
    { label: "Slots in use", isNumber: true, show: (each) => html`<${Share} part=${(each.slotsNumber - each.freeSlots) / (each.slotsNumber || 1)} text=${`${each.slotsNumber - each.freeSlots} of ${each.slotsNumber}`} />` },
    { label: "Tasks", isNumber: true, show: (each) => each.assignedTasks ?? "–" },
    { label: "Takes", isNumber: true, show: (each) => rate(figure(each, "numRecordsInPerSecond")) },
    { label: "Memory", show: (each) => (limit(each) ? isNumber(used(each)) ? html`<${Share} kind="long" part=${used(each) / limit(each)} text=${html`${bytes(used(each))} <span class="muted">of ${bytes(limit(each))}</span>`} />` : html`<span title="use is not measured">limit ${bytes(limit(each))}</span>` : html`${isNumber(used(each)) ? `${bytes(used(each))}, ` : ""}<span class="muted">no limit set</span>`) },
    { label: "Machine", kind: "tight", show: (each) => html`<span class="muted">${each.hardware.cpuCores} cores, ${bytes(each.hardware.physicalMemory)}</span>` },
    { label: "Heard", isNumber: true, show: (each) => ago(each.timeSinceLastHeartbeat, now()) },
  ];
}

// What the threads of its slots do, asked for once.
function Threads({ worker }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  async function dump() {
    try { setFound((await request(`/taskmanagers/${encodeURIComponent(worker.id)}/thread-dump`)).threadInfos); setError(null); } catch (failed) { setError(failed); }
  }
  return html`<${Section} title="Threads" aside=${html`<button type="button" onClick=${dump}>${found ? "Take another thread dump" : "Take a thread dump"}</button>`}>
    ${error ? html`<${Failed} error=${error} />` : found ? found.map((each) => html`<details key=${each.threadName} open=${/MainThread/.test(each.threadName)}><summary>${each.threadName}</summary><pre class="trace" tabindex="0" role="region" aria-label=${each.threadName}>${each.stringifiedThreadInfo}</pre></details>`) : html`<p class="note">A thread dump shows the stack of each thread of each slot at one time. For where time goes over some seconds, see the flame graph of a vertex.</p>`}<//>`;
}

const PARTS = [["taskHeap", "Functions and state", "--busy"], ["frameworkHeap", "Framework", "--warn"], ["managedMemory", "Managed: RocksDB, sorting", "--back"], ["networkMemory", "Network buffers", "--good"], ["taskOffHeap", "Functions, off-heap", "--bad"], ["frameworkOffHeap", "Framework, off-heap", "--done"], ["jvmMetaspace", "Classes", "--muted"], ["jvmOverhead", "Overhead", "--idle"]];

function Memory({ worker }) {
  const memory = worker.memoryConfiguration ?? {};
  const parts = PARTS.filter(([key]) => memory[key] > 0);
  const total = memory.totalProcessMemory || parts.reduce((sum, [key]) => sum + memory[key], 0);
  return html`<${Section} title=${`Memory of ${hostOf(worker)}`} aside=${total ? `${bytes(total)} in all` : ""}>${parts.length ? html`<div class="panel section">
    <div class="memory" role="img" aria-label=${parts.map(([key, name]) => `${name} ${bytes(memory[key])}`).join(", ")}>${parts.map(([key, name, colour]) => html`<i key=${key} style=${`width:${(100 * memory[key]) / total}%;background:var(${colour})`} title=${`${name}: ${bytes(memory[key])}`} />`)}</div>
    <div class="memory-parts">${parts.map(([key, name, colour]) => html`<span key=${key}><i style=${`background:var(${colour})`} />${name} <b class="num" title=${memory[key]}>${bytes(memory[key])}</b></span>`)}</div></div>`
    : html`<${Empty} title="No limit is set" text="The job's configuration says nothing about memory. This sets a limit:" command="funke run -D taskmanager.memory.process.size=2g -py job.py" />`}<//>`;
}
