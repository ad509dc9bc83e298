// What broke?
import { html } from "../view.js";
import { now, useData, useOffers } from "../data.js";
import { href } from "../router.js";
import { Answer, Empty, Shown } from "../parts.js";
import { exceptionSentence, kindOf, lineOf, messageOf } from "../sentences.js";
import { ago, moment } from "../words.js";

const JAVA = /^\s+at [\w.$/]+\(|^\s+\.\.\. \d+ more|^Caused by: (java|org|scala|py4j)\.|^(java|org|scala|py4j)\.[\w.$]+(Exception|Error)/;

export function ExceptionsPage({ job, path }) {
  const answer = useData(`${path}/exceptions`);
  const known = useData(`${path.replace("/jobs/", "/funke/jobs/")}/timeline`).value;
  return html`<${Shown} of=${answer}>${({ exceptionHistory: { entries, truncated } }) => html`
    <${Answer} ...${exceptionSentence(entries, Math.max(entries.length, known?.failures ?? 0), now())} />
    ${entries.length ? groups(entries).map((group) => html`<${Failure} key=${group[0].timestamp} group=${group} job=${job} />`) : html`<${Empty} title="No failures" text="When a function raises, its line, its message and its stack stand here, also after the job has been restarted." />`}
    ${truncated ? html`<p class="note">${known ? `There were ${known.failures} in all` : "There were more before"}; the last ${entries.length} are kept.</p>` : null}
  `}<//>`;
}

// Failures of one kind are shown once, as the newest of them.
function groups(entries) {
  const found = new Map();
  for (const each of entries) found.set(kindOf(each), [...(found.get(kindOf(each)) ?? []), each]);
  return [...found.values()];
}

function Failure({ group, job }) {
  const [failure] = group;
  const line = lineOf(failure);
  const own = (failure["user-line"] ?? "").replace(/:\d+$/, "").split(/[/\\]/).pop();
  const lines = failure.stacktrace.split("\n");
  const python = lines.filter((each) => !JAVA.test(each));
  const java = lines.filter((each) => JAVA.test(each));
  const message = messageOf(failure);
  const hasDocs = useOffers("/docs");
  // The line that Python names, and the source below it.
  const isOwn = (index) => Boolean(own) && [python[index], /^\s+File /.test(python[index - 1] ?? "") ? python[index - 1] : ""].some((each) => each.includes(own));
  return html`<article class="failure">
    <div class="failure-head"><b title=${moment(failure.timestamp)}>${ago(failure.timestamp, now())}</b>
      ${line ? html`<span>your line <b class="mono">${line}</b></span>` : null}
      ${failure.operator ? html`<span>in <b>${failure.operator}</b></span>` : null}
      ${failure.taskName ? html`<span>task <b>${failure.taskName}</b></span>` : null}
      ${failure.endpoint ? html`<span>on <b>${failure.endpoint}</b></span>` : null}
      ${failure.attempt !== undefined ? html`<span>attempt <b>${failure.attempt}</b></span>` : null}
      ${group.length > 1 ? html`<span><b>${group.length} times</b>, first at ${moment(group.at(-1).timestamp)}</span>` : null}
      ${failure["operator-id"] ? html`<a href=${href(["jobs", job.jid, "graph"], { vertex: vertexOf(job, failure) })}>show in the graph</a>` : null}</div>
    <p class="said">${message}</p>
    ${failure.record ? html`<p>at the record <code class="record">${failure.record}</code></p>` : null}
    ${hasDocs ? html`<p class="small"><a href=${helpFor(failure)} target="_blank" rel="noopener">What to do about ${failure.exceptionName?.split(".").pop() || "this"}</a></p>` : null}
    ${python.length > 1 || python[0] !== message ? html`<pre class="trace" tabindex="0" role="region" aria-label="Python's stack">${python.map((each, index) => html`<span key=${index} class=${isOwn(index) ? "own" : /^\s+File /.test(each) ? "theirs" : ""}>${each}${"\n"}</span>`)}</pre>` : null}
    ${java.length ? html`<details><summary>Java's stack, ${java.length} lines</summary><pre class="trace" tabindex="0" role="region" aria-label="Java's stack">${java.join("\n")}</pre></details>` : null}
  </article>`;
}

// Our own errors have an entry each; what the user's functions raise has one together.
const OWN = /^(?:SlotLost|SlotTimeout|SparkUnavailable|StorageUnavailable|RecoveryRejected|LeaseLost|TypeMismatch|Serialization|Source|Sink|State|Untrusted|Configuration|UnsupportedFeature)Error$/;
const helpFor = (failure) => { const name = failure.exceptionName?.split(".").pop() ?? ""; return `docs/errors.html#${OWN.test(name) ? name.toLowerCase() : "errors-of-your-functions"}`; };

const vertexOf = (job, failure) => job.vertices.find((vertex) => vertex.id === failure["operator-id"] || failure.taskName?.startsWith(vertex.name))?.id ?? "";
