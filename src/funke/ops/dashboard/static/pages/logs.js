// Log files that follow: those of the service and its programs, and that of one job.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../view.js";
import { now, reload, request, useData, useOffers } from "../data.js";
import { href, pick } from "../router.js";
import { Answer, Empty, Failed, Section, Shown, isEnded } from "../parts.js";
import { useOutlook } from "./overview.js";
import { ago, bytes, chainParts, plural } from "../words.js";

const MOST_TEXT = 512_000;
const MOST_LINES = 4000;

export function LogsPage({ route, mainRef }) {
  const files = useData("/jobmanager/logs");
  const list = [...(files.value?.logs ?? [])].sort((a, b) => b.mtime - a.mtime);
  const jobs = useData("/jobs/overview").value?.jobs ?? [];
  const { of } = useOutlook();
  const titleOf = titles(jobs, of);
  const name = route.query.file ?? list[0]?.name;
  const file = list.find((each) => each.name === name);
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${files}>${() => html`
    <${Answer} ...${logsSentence(list, titleOf, now())} />
    ${list.length ? html`<div class="split">
      <nav class="side-list" aria-label="Log files">${list.map((each) => html`<a key=${each.name} href=${href(["logs"], { ...route.query, file: each.name })} aria-current=${each.name === name ? "true" : undefined}><span>${titleOf(each.name)}</span><span class="muted small num" style="white-space:nowrap" title=${ago(each.mtime, now())}>${bytes(each.size)}</span></a>`)}</nav>
      ${name ? html`<${Log} key=${name} name=${name} title=${titleOf(name)} file=${file} query=${route.query} />` : null}
    </div>` : html`<${Empty} title="No log file yet" text="The service and the programs it runs write theirs here." command="funke run -d -py job.py" />`}
  `}<//></main>`;
}

// Programs' logs are called by their jobs; the earlier parts of a log have a number.
function titles(jobs, of) {
  const names = new Map();
  for (const job of jobs) { const log = of[job.jid]?.log; if (log) names.set(log, [...(names.get(log) ?? []), job.name]); }
  return (file) => {
    const number = /\.(\d+)\.log$/.exec(file)?.[1];
    const found = names.get(number ? file.replace(`.${number}.log`, ".log") : file);
    return found ? `${[...new Set(found)].slice(0, 3).join(", ")}${number ? `, part ${number} before` : ""}` : file;
  };
}

export function JobLogsPage({ job, query }) {
  const files = useData("/jobmanager/logs");
  const { answer, of } = useOutlook();
  const own = of[job.jid]?.log;
  const file = files.value?.logs?.find((each) => each.name === own);
  if (files.value === undefined || answer.value === undefined) return html`<${Shown} of=${files.value === undefined ? files : answer}>${() => null}<//>`;
  if (!file) return html`<${Answer} level="none" text="The service has no log of this job." /><${Empty} title="No log here" text="Its program was run from a command line, and prints where it was started. To have the service run it:" command="funke run -d -py job.py" />`;
  return html`<${Answer} level="none" text=${`Its program wrote last ${ago(file.mtime, now())}; ${bytes(file.size)} in all.`} />
    ${isEnded(job.state) ? null : html`<${Levels} job=${job} />`}
    <${Log} key=${own} name=${own} title="Log" file=${file} query=${query} operators=${job.plan.nodes.flatMap((node) => chainParts(node.description))} />`;
}

const LEVELS = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

// From which level on the job's functions log; takes effect at once, until the job ends.
function Levels({ job }) {
  const path = `/jobs/${encodeURIComponent(job.jid)}/jobmanager/config`;
  const settings = useData(path).value ?? [];
  const valueOf = (key) => settings.find((each) => each.key === key)?.value;
  const [logger, setLogger] = useState("");
  const [error, setError] = useState(null);
  const overrides = Object.fromEntries((valueOf("python.logging.level.overrides") ?? "").split(",").filter(Boolean).map((each) => each.split(":").map((part) => part.trim())));
  const level = valueOf("python.logging.default.level") ?? "INFO";
  async function change(body) {
    try {
      await request(`/funke/jobs/${encodeURIComponent(job.jid)}/log-levels`, { method: "PUT", body });
      setError(null);
      await reload(path);
    } catch (found) { setError(found); }
  }
  const options = (chosen) => LEVELS.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${each}</option>`);
  return html`<div class="filters levels"><label>Functions log from <select value=${level} onChange=${(event) => change({ default: event.target.value, overrides })}>${options(level)}</select></label>
    <label>logger <input type="text" size="16" placeholder="shop.prices" value=${logger} onInput=${(event) => setLogger(event.target.value)} /></label>
    <select aria-label="Level of that logger" disabled=${!logger} value=${overrides[logger] ?? ""} onChange=${(event) => event.target.value && change({ default: level, overrides: { ...overrides, [logger]: event.target.value } })}><option value="">as all</option>${options(overrides[logger])}</select>
    ${Object.entries(overrides).map(([name, each]) => html`<span key=${name} class="muted">${name}: ${each}</span>`)}</div>${error ? html`<${Failed} error=${error} />` : null}`;
}

function logsSentence(list, titleOf, at) {
  if (!list.length) return { level: "none", text: "There are no logs yet." };
  return { level: "none", text: `${plural(list.length, "file")}; ${titleOf(list[0].name)} was written last, ${ago(list[0].mtime, at)}.` };
}

// New bytes only, where the service can tell them apart; else the whole file again.
async function readOn(name, state, hasParts) {
  const encoded = encodeURIComponent(name);
  if (hasParts) {
    const part = await request(`/funke/logs/${encoded}?offset=${state.next ?? -MOST_TEXT / 2}`);
    const before = part.offset < (state.next ?? 0) ? "" : state.text;
    return { text: (before + part.text).slice(-MOST_TEXT), next: part.next };
  }
  return { text: (await request(`/jobmanager/logs/${encoded}`, { asText: true })).slice(-MOST_TEXT) };
}

function useLog(name, isFollowing, hasParts) {
  const [log, setLog] = useState({ text: "" });
  const [error, setError] = useState(null);
  const state = useRef({ text: "" });
  useEffect(() => {
    let isOver = false;
    let timer = 0;
    async function read() {
      try {
        if (!document.hidden) {
          const next = await readOn(name, state.current, hasParts);
          if (isOver) return;
          if (next.text !== state.current.text) setLog(next);
          state.current = next;
          setError(null);
        }
      } catch (found) {
        if (!isOver) setError(found);
      }
      if (!isOver && isFollowing) timer = setTimeout(read, 1500);
    }
    if (hasParts !== undefined) read();
    return () => { isOver = true; clearTimeout(timer); };
  }, [name, isFollowing, hasParts]);
  return [log, error];
}

// A line's own level and subtask; lines that follow it, such as a stack, belong to it.
const HEAD = /^\d{4}-\d\d-\d\d[ T][\d:,.+]+\s+(ERROR|FATAL|CRITICAL|WARN(?:ING)?|INFO|DEBUG|TRACE)\s+(?:\S+ - |\S+: )?(?:(.*?) \((\d+)\/\d+\): )?/;
const RANK = { TRACE: 0, DEBUG: 1, INFO: 2, WARN: 3, WARNING: 3, ERROR: 4, FATAL: 4, CRITICAL: 4 };

function headOf(line) {
  if (line.startsWith("{")) {
    try { const { level, operator, subtask } = JSON.parse(line); return level ? { level, operator, subtask: subtask?.split("/")[0] } : null; } catch { return null; }
  }
  const found = HEAD.exec(line);
  return found ? { level: found[1], operator: found[2], subtask: found[3] } : null;
}

export function chosenLines(lines, { level, task, part }) {
  if (!level && !task && !part) return lines;
  let isIn = !level && !task && !part;
  return lines.filter((line) => {
    const head = headOf(line);
    if (head) isIn = (!level || RANK[head.level] >= RANK[level]) && (!task || head.operator === task) && (!part || head.subtask === part);
    return isIn;
  });
}

const levelOf = (line) => (/\b(ERROR|FATAL|CRITICAL|Traceback|Error:)/.test(line) ? "error" : /\bWARN(ING)?\b/.test(line) ? "warning" : "");

function Log({ name, title, query, operators = [] }) {
  const isFollowing = query.follow !== "no";
  const wanted = (query.q ?? "").toLowerCase();
  const [log, error] = useLog(name, isFollowing, useOffers("/funke/logs/{name}"));
  const box = useRef(null);
  const all = log.text.replace(/\n$/, "").split("\n");
  const chosen = chosenLines(all, query);
  const lines = (wanted ? chosen.filter((line) => line.toLowerCase().includes(wanted)) : chosen).slice(-MOST_LINES);
  useLayoutEffect(() => { if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight; }, [log, wanted, isFollowing]);
  return html`<${Section} title=${title} aside=${html`<select aria-label="Only lines from this level on" value=${query.level ?? ""} onChange=${(event) => pick({ level: event.target.value })}><option value="">all levels</option>${LEVELS.slice(0, 4).map((each) => html`<option key=${each} value=${each}>from ${each}</option>`)}</select>
    ${operators.length ? html`<select aria-label="Only lines of this operator" value=${query.task ?? ""} onChange=${(event) => pick({ task: event.target.value })}><option value="">all operators</option>${[...new Set(operators)].map((each) => html`<option key=${each} value=${each}>${each.slice(0, 40)}</option>`)}</select><input type="text" class="part" inputmode="numeric" size="4" aria-label="Only lines of this subtask, from 1" placeholder="subtask" value=${query.part ?? ""} onInput=${(event) => pick({ part: event.target.value })} />` : null}<input type="search" aria-label="Only lines that have" placeholder="Only lines with" value=${query.q ?? ""} onInput=${(event) => pick({ q: event.target.value })} /><label><input type="checkbox" checked=${isFollowing} onChange=${(event) => pick({ follow: event.target.checked ? "" : "no" })} /> Follow</label>`}>
    ${error && !log.text ? html`<${Failed} error=${error} />` : html`<pre class="log" ref=${box} tabindex="0" role="log" aria-label=${name} aria-live="off">${lines.map((line, index) => html`<span key=${index} class=${levelOf(line)}>${marked(line, wanted)}${"\n"}</span>`)}</pre>`}
    <p class="note">${lines.length < all.length ? `${lines.length} of ${plural(all.length, "line")}` : plural(all.length, "line")} of the file's end.</p><//>`;
}

function marked(line, wanted) {
  if (!wanted) return line;
  const at = line.toLowerCase().indexOf(wanted);
  return html`${line.slice(0, at)}<mark>${line.slice(at, at + wanted.length)}</mark>${line.slice(at + wanted.length)}`;
}
