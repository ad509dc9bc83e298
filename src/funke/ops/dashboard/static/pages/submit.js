// Sends a program to the service and runs it.
import { html, useRef, useState } from "../view.js";
import { now, reload, request, useData } from "../data.js";
import { go } from "../router.js";
import { Answer, Command, Dialog, Empty, Failed, Section, Shown, Table } from "../parts.js";
import { ago, moment, plural } from "../words.js";

export function SubmitPage({ mainRef }) {
  const config = useData("/config");
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${config}>${({ features }) => (features?.["web-submit"] ? html`<${Programs} />` : html`
    <${Answer} level="none" text="Programs are not taken here; the command line submits them." />
    <${Empty} title="Submitting over the network is off" text="A caller who may submit a program can run any code. To allow it, set web.submit.enable to true for the service. On the machine itself:" command="funke run -d -py job.py" />`)}<//></main>`;
}

function Programs() {
  const programs = useData("/jars");
  const [sent, setSent] = useState({ name: "nothing" });
  const [chosen, setChosen] = useState(null);
  const [isOver, setOver] = useState(false);
  const input = useRef(null);
  const files = programs.value?.files ?? [];
  async function upload(file) {
    if (!file) return;
    setSent({ name: "sending", file: file.name });
    const form = new FormData();
    form.append("jarfile", file, file.name);
    try {
      await request("/jars/upload", { method: "POST", form });
      setSent({ name: "sent", file: file.name });
      await reload("/jars");
    } catch (error) {
      setSent({ name: "failed", error });
    }
  }
  return html`<${Shown} of=${programs}>${() => html`
    <${Answer} level="none" text=${files.length ? `${plural(files.length, "program")} can be run; the newest is ${newest(files).name}, sent ${ago(newest(files).uploaded, now())}.` : "No program has been sent yet."} />
    <div class="drop ${isOver ? "over" : ""}" onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${(event) => { event.preventDefault(); setOver(false); upload(event.dataTransfer.files[0]); }}>
      <p>Drop a Python file or an archive here, or</p><button type="button" class="primary" onClick=${() => input.current.click()}>Choose a file</button>
      <input ref=${input} class="hidden" type="file" accept=".py,.zip,.pyz" aria-label="Program" tabindex="-1" onChange=${(event) => upload(event.target.files[0])} />
      ${sent.name === "sending" ? html`<p class="note" role="status">Sending ${sent.file} …</p>` : sent.name === "sent" ? html`<p class="note" role="status">${sent.file} is here.</p>` : null}</div>
    ${sent.name === "failed" ? html`<${Failed} error=${sent.error} />` : null}
    <${Section} title="Programs"><${Table} label="Programs" rows=${files} keyOf=${(each) => each.id} columns=${[
      { label: "Name", kind: "wide", show: (each) => html`<b>${each.name}</b>` },
      { label: "Sent", kind: "tight", show: (each) => html`<time title=${moment(each.uploaded)}>${ago(each.uploaded, now())}</time>` },
      { label: "", kind: "tight", show: (each) => html`<button type="button" onClick=${() => setChosen(each)}>Run</button> <button type="button" class="quiet" onClick=${async () => { await request(`/jars/${encodeURIComponent(each.id)}`, { method: "DELETE" }).catch((error) => setSent({ name: "failed", error })); await reload("/jars"); }}>Remove</button>` }]}
      empty=${html`<${Empty} title="Nothing here yet" text="Send a program above, or run one from the command line:" command="funke run -d -py job.py" />`} /><//>
    ${chosen ? html`<${RunDialog} key=${chosen.id} program=${chosen} onClose=${() => setChosen(null)} />` : null}
  `}<//>`;
}

const newest = (files) => files.reduce((a, b) => (a.uploaded > b.uploaded ? a : b));

function RunDialog({ program, onClose }) {
  const [choice, setChoice] = useState({ parallelism: "", args: "", savepoint: "", skip: false, module: "" });
  const [step, setStep] = useState({ name: "asking" });
  const isArchive = !program.name.endsWith(".py");
  const change = (changes) => setChoice({ ...choice, ...changes });
  const args = choice.args.split("\n").map((each) => each.trim()).filter(Boolean);
  async function run(event, close) {
    event.preventDefault();
    setStep({ name: "running" });
    const body = { programArgsList: args, ...(choice.parallelism ? { parallelism: Number(choice.parallelism) } : {}), ...(choice.savepoint ? { savepointPath: choice.savepoint, allowNonRestoredState: choice.skip } : {}), ...(isArchive ? { entryClass: choice.module } : {}) };
    try {
      const { jobid } = await request(`/jars/${encodeURIComponent(program.id)}/run`, { method: "POST", body });
      close();
      go(["jobs", jobid]);
    } catch (error) {
      setStep({ name: "failed", error });
    }
  }
  const command = ["funke run -d", choice.parallelism && `-p ${choice.parallelism}`, choice.savepoint && `-s ${choice.savepoint}`, choice.savepoint && choice.skip && "-n", isArchive ? `-pyfs ${program.name} -pym ${choice.module || "MODULE"}` : `-py ${program.name}`, ...args].filter(Boolean).join(" ");
  return html`<${Dialog} title=${`Run ${program.name}`} onClose=${onClose}>${(close) => html`<form class="form" onSubmit=${(event) => run(event, close)}>
    ${isArchive ? html`<label class="field"><span>Module to run</span><input required value=${choice.module} onInput=${(event) => change({ module: event.target.value })} placeholder="jobs.orders" /></label>` : null}
    <label class="field"><span>Parallelism (empty: as the program or the configuration says)</span><input type="number" min="1" value=${choice.parallelism} onInput=${(event) => change({ parallelism: event.target.value })} /></label>
    <label class="field"><span>Arguments, one on each line</span><textarea rows="3" value=${choice.args} onInput=${(event) => change({ args: event.target.value })} /></label>
    <label class="field"><span>Start from this savepoint or checkpoint (empty: from nothing)</span><input value=${choice.savepoint} onInput=${(event) => change({ savepoint: event.target.value.trim() })} /></label>
    ${choice.savepoint ? html`<label><input type="checkbox" checked=${choice.skip} onChange=${(event) => change({ skip: event.target.checked })} /> Leave out state whose operator is gone</label>` : null}
    <div><p class="note">The same on the command line:</p><${Command} text=${command} /></div>
    ${step.name === "failed" ? html`<${Failed} error=${step.error} />` : null}
    ${step.name === "running" ? html`<div class="progress" role="progressbar" aria-label="Starting" />` : null}
    <div class="buttons"><button type="button" onClick=${close}>Leave it</button><button class="primary" disabled=${step.name === "running"}>${step.name === "running" ? "Starting…" : "Run"}</button></div></form>`}<//>`;
}
