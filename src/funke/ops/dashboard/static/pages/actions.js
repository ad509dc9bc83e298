// Savepoint, stop, cancel, rescale: one question that says what will happen and what will be kept, then the outcome.
import { html, useEffect, useRef, useState } from "../view.js";
import { request } from "../data.js";
import { go } from "../router.js";
import { Command, Dialog, Failed, Path } from "../parts.js";

const ACTIONS = {
  savepoint: {
    title: "Take a savepoint", verb: "Take savepoint", hasFolder: true,
    happens: ["The job goes on while its state is written.", "The savepoint is kept until you remove it."],
    command: (id, { folder }) => `funke savepoint ${id}${folder ? ` ${folder}` : ""}`,
    begin: (path, { folder }) => request(`${path}/savepoints`, { method: "POST", body: { "cancel-job": false, ...(folder ? { "target-directory": folder } : {}) } }),
    poll: "savepoints",
  },
  stop: {
    title: "Stop with a savepoint", verb: "Stop job", hasFolder: true, canDrain: true,
    happens: ["A savepoint is taken, sinks commit what they hold, then the job ends.", "Nothing is lost: a new run starts from the savepoint.", "The savepoint is kept until you remove it."],
    command: (id, { folder, drain }) => `funke stop${folder ? ` -p ${folder}` : ""}${drain ? " -d" : ""} ${id}`,
    begin: (path, { folder, drain }) => request(`${path}/stop`, { method: "POST", body: { drain, ...(folder ? { targetDirectory: folder } : {}) } }),
    poll: "savepoints",
  },
  cancel: {
    title: "Cancel the job", verb: "Cancel job", isDangerous: true,
    happens: ["The job ends at once; no savepoint is taken.", "Work since the last checkpoint is lost; what sinks have committed stays.", "Checkpoints are removed unless the job's retention setting keeps them."],
    command: (id) => `funke cancel ${id}`,
    begin: (path) => request(`${path}?mode=cancel`, { method: "PATCH" }),
  },
  rescale: {
    title: "Change the parallelism", verb: "Rescale job", hasParallelism: true,
    happens: ["The job stops with a savepoint and starts again from it with another parallelism.", "All state is kept and spread anew.", "It gets a new job id."],
    command: (id, { parallelism }) => `funke stop ${id} && funke run -d -p ${parallelism} -s SAVEPOINT -py job.py`,
    begin: (path, { parallelism }) => request(`${path}/rescaling?parallelism=${parallelism}`, { method: "PATCH" }),
    poll: "rescaling",
  },
};

export function ActionDialog({ action, job, path, onClose }) {
  const about = ACTIONS[action];
  const [choice, setChoice] = useState({ folder: "", drain: false, parallelism: Math.max(1, ...job.vertices.map((vertex) => vertex.parallelism)) });
  const [step, setStep] = useState({ name: "asking" });
  const isOpen = useRef(true);
  useEffect(() => () => { isOpen.current = false; }, []);
  const change = (changes) => setChoice({ ...choice, ...changes });

  async function run() {
    setStep({ name: "running" });
    try {
      const begun = await about.begin(path, choice);
      const outcome = about.poll ? await outcomeOf(`${path}/${about.poll}/${begun["request-id"]}`, isOpen) : {};
      if (outcome?.["failure-cause"]) throw Object.assign(new Error(outcome["failure-cause"]["stack-trace"] ?? outcome["failure-cause"].class));
      setStep({ name: "done", outcome });
    } catch (error) {
      setStep({ name: "failed", error });
    }
  }

  return html`<${Dialog} title=${about.title} onClose=${onClose}>${(close) => html`
    ${step.name === "asking" || step.name === "running" ? html`
      <ul class="keep">${about.happens.map((each) => html`<li key=${each}>${each}</li>`)}</ul>
      ${about.hasFolder ? html`<label class="field"><span>Folder (empty: the one in the configuration)</span><input value=${choice.folder} onInput=${(event) => change({ folder: event.target.value.trim() })} placeholder="file:///savepoints" /></label>` : null}
      ${about.canDrain ? html`<label><input type="checkbox" checked=${choice.drain} onChange=${(event) => change({ drain: event.target.checked })} /> Drain: fire all event-time windows and timers first (for a job that will not be resumed)</label>` : null}
      ${about.hasParallelism ? html`<label class="field"><span>Parallelism</span><input type="number" min="1" max="1024" value=${choice.parallelism} onInput=${(event) => change({ parallelism: Math.max(1, Number(event.target.value) || 1) })} /></label>` : null}
      <div><p class="note">The same on the command line:</p><${Command} text=${about.command(job.jid, choice)} /></div>
      ${step.name === "running" ? html`<div class="progress" role="progressbar" aria-label="Under way" />` : null}
      <div class="buttons"><button type="button" onClick=${close}>Leave it</button><button type="button" class="primary ${about.isDangerous ? "danger" : ""}" onClick=${run} disabled=${step.name === "running"}>${step.name === "running" ? "Under way…" : about.verb}</button></div>` : null}
    ${step.name === "failed" ? html`<${Failed} error=${step.error} /><div class="buttons"><button type="button" onClick=${close}>Close</button><button type="button" class="primary" onClick=${() => setStep({ name: "asking" })}>Try again</button></div>` : null}
    ${step.name === "done" ? html`<${Outcome} outcome=${step.outcome} action=${action} close=${close} />` : null}`}
  <//>`;
}

function Outcome({ outcome, action, close }) {
  const path = outcome?.location;
  const next = outcome?.["job-id"];
  return html`<p role="status">${{ savepoint: "The savepoint is complete.", stop: "The job is stopping; its savepoint is complete.", cancel: "The job is being cancelled.", rescale: "The job goes on with the new parallelism." }[action]}</p>
    ${path ? html`<div class="field"><span>Path</span><${Path} text=${path} /></div><div><p class="note">A new run starts from it with:</p><${Command} text=${`funke run -d -s ${path} -py job.py`} /></div>` : null}
    <div class="buttons">${next ? html`<button type="button" onClick=${() => { close(); go(["jobs", next]); }}>Open the new job</button>` : null}<button type="button" class="primary" onClick=${close}>Close</button></div>`;
}

async function outcomeOf(path, isOpen) {
  for (let waitMs = 200; isOpen.current; waitMs = Math.min(2000, waitMs * 1.5)) {
    const answer = await request(path);
    if (answer.status.id === "COMPLETED") return answer.operation;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  return {};
}
