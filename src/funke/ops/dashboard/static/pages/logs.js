// Log files that follow.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../view.js";
import { now, request, useData, useOffers } from "../data.js";
import { href, pick } from "../router.js";
import { Answer, Empty, Failed, Section, Shown } from "../parts.js";
import { ago, bytes, plural } from "../words.js";

const MOST_TEXT = 512_000;
const MOST_LINES = 4000;

export function LogsPage({ route, mainRef }) {
  const files = useData("/jobmanager/logs");
  const list = [...(files.value?.logs ?? [])].sort((a, b) => b.mtime - a.mtime);
  const name = route.query.file ?? list[0]?.name;
  const file = list.find((each) => each.name === name);
  return html`<main id="main" tabindex="-1" ref=${mainRef}><${Shown} of=${files}>${() => html`
    <${Answer} ...${logsSentence(list, now())} />
    ${list.length ? html`<div class="split">
      <nav class="side-list" aria-label="Log files">${list.map((each) => html`<a key=${each.name} href=${href(["logs"], { ...route.query, file: each.name })} aria-current=${each.name === name ? "true" : undefined}><span>${each.name}</span><span class="muted small num" style="white-space:nowrap" title=${ago(each.mtime, now())}>${bytes(each.size)}</span></a>`)}</nav>
      ${name ? html`<${Log} key=${name} name=${name} file=${file} query=${route.query} />` : null}
    </div>` : html`<${Empty} title="No log file yet" text="The service and the programs it runs write theirs here." command="funke run -d -py job.py" />`}
  `}<//></main>`;
}

function logsSentence(list, at) {
  if (!list.length) return { level: "none", text: "There are no logs yet." };
  return { level: "none", text: `${plural(list.length, "file")}; ${list[0].name} was written last, ${ago(list[0].mtime, at)}.` };
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

const levelOf = (line) => (/\b(ERROR|FATAL|CRITICAL|Traceback|Error:)/.test(line) ? "error" : /\bWARN(ING)?\b/.test(line) ? "warning" : "");

function Log({ name, query }) {
  const isFollowing = query.follow !== "no";
  const wanted = (query.q ?? "").toLowerCase();
  const [log, error] = useLog(name, isFollowing, useOffers("/funke/logs/{name}"));
  const box = useRef(null);
  const all = log.text.replace(/\n$/, "").split("\n");
  const lines = (wanted ? all.filter((line) => line.toLowerCase().includes(wanted)) : all).slice(-MOST_LINES);
  useLayoutEffect(() => { if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight; }, [log, wanted, isFollowing]);
  return html`<${Section} title=${name} aside=${html`<input type="search" aria-label="Only lines that have" placeholder="Only lines with" value=${query.q ?? ""} onInput=${(event) => pick({ q: event.target.value })} /><label><input type="checkbox" checked=${isFollowing} onChange=${(event) => pick({ follow: event.target.checked ? "" : "no" })} /> Follow</label>`}>
    ${error && !log.text ? html`<${Failed} error=${error} />` : html`<pre class="log" ref=${box} tabindex="0" role="log" aria-label=${name} aria-live="off">${lines.map((line, index) => html`<span key=${index} class=${levelOf(line)}>${marked(line, wanted)}${"\n"}</span>`)}</pre>`}
    <p class="note">${wanted ? `${lines.length} of ${plural(all.length, "line")}` : plural(all.length, "line")} of the file's end.</p><//>`;
}

function marked(line, wanted) {
  if (!wanted) return line;
  const at = line.toLowerCase().indexOf(wanted);
  return html`${line.slice(0, at)}<mark>${line.slice(at, at + wanted.length)}</mark>${line.slice(at + wanted.length)}`;
}
