// Small parts that all pages are made of.
import { html, useEffect, useRef, useState } from "./view.js";
import { exact, isNumber } from "./words.js";

const PATHS = {
  running: "M5 3.5v9l7-4.5z",
  waiting: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zm0 2.5v3.2l2.2 1.6",
  restarting: "M12.5 8A4.5 4.5 0 1 1 11 4.6M11.2 2v3h-3",
  failed: "M4 4l8 8M12 4l-8 8",
  finished: "M3 8.5l3.2 3.2L13 5",
  cancelled: "M4.5 4.5h7v7h-7z",
  warning: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  info: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 7.5v3.2M8 5.2v.1",
  spark: "M9 1 3 9.2h4L5.5 15 13 6.6H8.4z",
};
const FILLED = new Set(["running", "cancelled", "spark"]);

export const Icon = ({ name, size = 16 }) => html`<svg class="icon ${FILLED.has(name) ? "filled" : ""}" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

// States: a colour, an icon and a word each.
const STATES = {
  RUNNING: ["running", "running"],
  INITIALIZING: ["waiting", "initializing"],
  CREATED: ["waiting", "created"],
  SCHEDULED: ["waiting", "scheduled"],
  DEPLOYING: ["waiting", "deploying"],
  RECONCILING: ["waiting", "reconciling"],
  SUSPENDED: ["warning", "suspended"],
  RESTARTING: ["restarting", "restarting"],
  FAILING: ["failed", "failing"],
  FAILED: ["failed", "failed"],
  CANCELLING: ["cancelled", "cancelling"],
  CANCELING: ["cancelled", "cancelling"],
  CANCELED: ["cancelled", "cancelled"],
  FINISHED: ["finished", "finished"],
  COMPLETED: ["finished", "completed"],
  IN_PROGRESS: ["waiting", "in progress"],
};
export const stateKind = (state) => (STATES[state] ?? ["waiting"])[0];
export const stateWord = (state) => (STATES[state] ?? ["", String(state).toLowerCase()])[1];
export const isEnded = (state) => ["FINISHED", "CANCELED", "FAILED"].includes(state);
export const Status = ({ state }) => html`<span class="status ${stateKind(state)}"><${Icon} name=${stateKind(state)} size=${14} />${stateWord(state)}</span>`;

// A humane number with its exact value on hover; a double click copies the exact one.
export const Num = ({ value, as, unit = "" }) => html`<data class="num" value=${isNumber(value) ? value : ""} title=${`${exact(value)}${isNumber(value) && unit ? ` ${unit}` : ""}`}>${as(value)}</data>`;

// The page's answer: its first line, in words.
const LEVEL_ICON = { good: "finished", bad: "failed", warn: "warning", busy: "running", none: "info" };
export function Answer({ level = "none", text, more }) {
  return html`<div class="answer ${level}" role="status">
    <span class="answer-icon"><${Icon} name=${LEVEL_ICON[level]} size=${20} /></span>
    <h1>${text}</h1>${more ? html`<p class="muted">${more}</p>` : null}
  </div>`;
}

export function Skeleton({ rows = 4 }) {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="skeleton" aria-busy="true" aria-label="Loading">${isDue ? Array.from({ length: rows }, (_, i) => html`<span key=${i} style=${`width:${92 - ((i * 17) % 40)}%`} />`) : null}</div>`;
}

export const Empty = ({ title, text, command }) => html`<div class="empty"><h2>${title}</h2>${text ? html`<p>${text}</p>` : null}${command ? html`<${Command} text=${command} />` : null}</div>`;

export function Failed({ error }) {
  const titles = { 403: "Not allowed", 404: "Not there", 0: "No answer" };
  return html`<div class="empty failed" role="alert"><h2><${Icon} name="failed" /> ${titles[error.status] ?? "That did not work"}</h2><p>${error.message}</p></div>`;
}

// Shows an answer of the service once there is one.
export function Shown({ of, rows, children }) {
  if (of.value !== undefined) return children(of.value);
  return of.error ? html`<${Failed} error=${of.error} />` : html`<${Skeleton} rows=${rows} />`;
}

export function Copy({ text, label = "Copy" }) {
  const [isDone, setDone] = useState(false);
  async function copy() {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  }
  return html`<button type="button" class="quiet icon-button" onClick=${copy} aria-label=${label} title=${label}><${Icon} name=${isDone ? "finished" : "copy"} size=${14} /></button>`;
}

export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain HTTP on another host there is no clipboard API.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export const Command = ({ text }) => html`<div class="command"><code>${text}</code><${Copy} text=${text} label="Copy the command" /></div>`;
export const Path = ({ text }) => html`<span class="path"><code title=${text}>${text}</code><${Copy} text=${text} label="Copy the path" /></span>`;

export const Section = ({ title, aside, children }) => html`<section class="section"><div class="section-head"><h2>${title}</h2>${aside ? html`<div class="aside">${aside}</div>` : null}</div>${children}</section>`;

export const Facts = ({ facts }) => html`<dl class="facts">${facts.filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

// Arrow keys move from row to row; Enter opens what a row stands for.
export function Table({ label, columns, rows, keyOf, onOpen, isOpen, empty, isGrid }) {
  const body = useRef(null);
  function onKeyDown(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr");
    if (!row || !body.current?.contains(row)) return;
    if (step) {
      const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
      if (next) { event.preventDefault(); next.focus(); }
    } else if (event.key === "Enter" && event.target === row) {
      const link = row.querySelector("a");
      if (onOpen) onOpen(rows[[...body.current.children].indexOf(row)]);
      else link?.click();
    }
  }
  if (!rows.length && empty) return empty;
  const canFocus = onOpen || columns.some((column) => column.isLink);
  return html`<div class=${isGrid ? "scroll" : "scroll cards"} tabindex="0" role="region" aria-label=${label}>
    <table onKeyDown=${onKeyDown}>
      <caption class="hidden">${label}</caption>
      <thead><tr>${columns.map((column) => html`<th key=${column.label} scope="col" class=${column.isNumber ? "number" : ""} title=${column.title}>${column.label}</th>`)}</tr></thead>
      <tbody ref=${body}>${rows.map((row, index) => html`<tr key=${keyOf ? keyOf(row) : index} tabindex=${canFocus ? 0 : undefined} class=${`${onOpen ? "opens" : ""} ${isOpen?.(row) ? "open" : ""}`} aria-current=${isOpen?.(row) ? "true" : undefined} onClick=${onOpen ? (event) => { if (!event.target.closest("a,button")) onOpen(row); } : undefined}>
        ${columns.map((column) => html`<td key=${column.label} class=${`${column.isNumber ? "number" : ""} ${column.kind ?? ""}`} data-label=${column.label}>${column.show(row)}</td>`)}
      </tr>`)}</tbody>
    </table>
  </div>`;
}

// A share of something, as a length with its number.
export const Share = ({ part, text, kind = "" }) => html`<span class="share ${kind}"><span class="share-bar"><span style=${`width:${Math.max(0, Math.min(1, part || 0)) * 100}%`} /></span><span class="share-text">${text}</span></span>`;

export function Dialog({ title, onClose, children, isWide }) {
  const dialog = useRef(null);
  const isTold = useRef(false);
  useEffect(() => { dialog.current?.showModal(); }, []);
  // The browser's own event comes a moment later, when the next dialog may be open already: it must not close that one.
  const tell = () => { if (!isTold.current) { isTold.current = true; onClose(); } };
  const close = () => { dialog.current?.close(); tell(); };
  return html`<dialog ref=${dialog} class=${isWide ? "wide" : ""} aria-labelledby="dialog-title" onClose=${tell} onClick=${(event) => event.target === dialog.current && close()}>
    <div class="dialog-body"><h2 id="dialog-title">${title}</h2>${children(close)}</div>
  </dialog>`;
}

// On a narrow screen links of a row lie beside it: the one of this page does not.
export function useCurrentInSight(key) {
  const row = useRef(null);
  useEffect(() => {
    const links = row.current;
    const seek = () => {
      const own = links.getBoundingClientRect();
      const link = links.querySelector("[aria-current]")?.getBoundingClientRect();
      if (link) links.scrollLeft += link.left - own.left - (own.width - link.width) / 2;
    };
    const watcher = new ResizeObserver(seek);
    watcher.observe(links);
    seek();
    return () => watcher.disconnect();
  }, [key]);
  return row;
}
