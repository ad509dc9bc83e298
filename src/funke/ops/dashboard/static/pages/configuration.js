// What is set, for the service and for a job.
import { html, useState } from "../view.js";
import { useData, useOffers } from "../data.js";
import { Answer, Copy, Empty, Facts, Section, Shown, Table } from "../parts.js";
import { plural } from "../words.js";

export function ConfigurationPage({ mainRef }) {
  const settings = useData("/jobmanager/config");
  const environment = useData("/jobmanager/environment").value;
  const config = useData("/config").value;
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${settings}>${(entries) => html`
    <${Answer} level="none" text=${entries.length ? `The service has ${plural(entries.length, "setting")} of its own; everything else has its default.` : "Nothing is set: everything has its default."} more="A job's own settings are on its Configuration page, and win over these." />
    ${config ? html`<${Facts} facts=${[["Version", config["funke-version"] ?? "–"], ["Speaks Flink's", config["flink-version"]], ["Time zone", config["timezone-name"]], ["Programs over REST", config.features?.["web-submit"] ? "taken" : "not taken"], ["Cancelling here", config.features?.["web-cancel"] === false ? "switched off" : "allowed"], environment && ["Runs on", environment.jvm?.version?.split(" (")[0]]]} />` : null}
    <${Settings} entries=${entries} command="funke start-cluster -D parallelism.default=4" />
    <${Options} />
    ${environment?.classpath?.length ? html`<${Section} title="Where modules are found"><div class="panel mono">${environment.classpath.map((each) => html`<div key=${each} style="overflow-wrap:anywhere">${each}</div>`)}</div><//>` : null}
  `}<//></main>`;
}

export function JobConfigurationPage({ path }) {
  const settings = useData(`${path}/jobmanager/config`);
  const config = useData(`${path}/config`).value?.["execution-config"];
  return html`<${Shown} of=${settings}>${(entries) => html`
    <${Answer} ...${jobSentence(entries, config)} />
    ${config ? html`<${Facts} facts=${[["Parallelism", config["job-parallelism"]], ["Restarts", restartWords(config["restart-strategy"])], ["Reuses objects", config["object-reuse-mode"] ? "yes" : "no"]]} />` : null}
    ${config && Object.keys(config["user-config"] ?? {}).length ? html`<${Section} title="Parameters of the program"><${Table} label="Parameters of the program" rows=${Object.entries(config["user-config"])} keyOf=${([key]) => key} columns=${[{ label: "Name", kind: "key", show: ([key]) => key }, { label: "Value", kind: "key", show: ([, value]) => value }]} /><//>` : null}
    <${Settings} entries=${entries} command="funke run -D parallelism.default=4 -py job.py" />
  `}<//>`;
}

const restartWords = (text) => (/^cluster level/i.test(text ?? "") ? "by default" : text);

function jobSentence(entries, config) {
  const of = (key) => entries.find((each) => each.key === key)?.value;
  const interval = of("execution.checkpointing.interval");
  const words = [config && `parallelism ${config["job-parallelism"]}`, interval ? `checkpoints every ${interval.replace(/(\d)([a-z])/i, "$1 $2")}` : "no checkpoints", `state in ${of("state.backend.type") ?? of("state.backend") ?? "hashmap"}`].filter(Boolean);
  return { level: "none", text: `${words.join(", ").replace(/^./, (letter) => letter.toUpperCase())}; ${plural(entries.length, "setting")} in all.` };
}

// Every option that the service knows, by all of its names; empty until the answer arrives.
function useOptions() {
  const { value } = useData(useOffers("/funke/options") ? "/funke/options" : null);
  return value?.options ?? [];
}

const Meaning = ({ option }) => html`${option.meaning}${option["no-effect"] ? html`<span class="why">No effect: ${option["no-effect"]}.</span>` : null}`;

function Settings({ entries, command }) {
  const options = new Map(useOptions().flatMap((each) => [each.key, ...each["older-keys"]].map((key) => [key, each])));
  const [text, setText] = useState("");
  const found = entries.filter(({ key, value }) => `${key} ${value}`.toLowerCase().includes(text.toLowerCase()));
  return html`<${Section} title="Settings" aside=${entries.length > 8 ? html`<input type="search" aria-label="Only settings that have" placeholder="Part of a key or value" value=${text} onInput=${(event) => setText(event.target.value)} />` : null}>
    <${Table} label="Settings" rows=${found} keyOf=${(each) => each.key} columns=${[{ label: "Key", kind: "key", show: (each) => each.key }, { label: "Value", kind: "key", show: (each) => each.value }, { label: "Meaning", kind: "wide", show: (each) => (options.has(each.key) ? html`<${Meaning} option=${options.get(each.key)} />` : "") }, { label: "", kind: "tight corner", show: (each) => html`<${Copy} text=${`${each.key}: ${each.value}`} label=${`Copy ${each.key}`} />` }]}
      empty=${text ? html`<${Empty} title="No setting is like that" text="Change the words above." />` : html`<${Empty} title="Nothing is set" text="Settings come from config.yaml, from the command line and from the program:" command=${command} />`} /><//>`;
}

const MOST_OPTIONS = 300;

function Options() {
  const options = useOptions();
  const [text, setText] = useState("");
  const found = options.filter((each) => `${each.key} ${each["older-keys"].join(" ")} ${each.meaning}`.toLowerCase().includes(text.toLowerCase()));
  return options.length ? html`<${Section} title="All options" aside=${html`<input type="search" aria-label="Only options that have" placeholder="Part of a key or meaning" value=${text} onInput=${(event) => setText(event.target.value)} />`}>
    ${text ? html`<${Table} label="All options" rows=${found.slice(0, MOST_OPTIONS)} keyOf=${(each) => each.key} columns=${[{ label: "Key", kind: "key", show: (each) => each.key }, { label: "Values", show: (each) => each.type }, { label: "Default", kind: "key", show: (each) => each.default || "–" }, { label: "Meaning", kind: "wide", show: (each) => html`<${Meaning} option=${each} />` }]}
      empty=${html`<${Empty} title="No option is like that" text="Change the words above. Options that are not known are accepted, and have no effect." />`} />` : html`<p class="note">${plural(options.length, "option")} are known. Write a part of a name, such as “checkpointing”, to see what they mean.</p>`}<//>` : null;
}
