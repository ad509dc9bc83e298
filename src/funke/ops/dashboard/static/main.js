// The frame around all pages: navigation, search, keys, theme, and what is said when the service is silent.
import { html, render, useEffect, useRef, useState } from "./view.js";
import { STALE_MS, linkState, setToken, start, useData, useTick } from "./data.js";
import { go, href, useRoute } from "./router.js";
import { Icon, Status, copyText, useCurrentInSight } from "./parts.js";
import { coarse, moment } from "./words.js";
import { OverviewPage } from "./pages/overview.js";
import { JobsPage } from "./pages/jobs.js";
import { JobPage, TABS } from "./pages/job.js";
import { WorkersPage } from "./pages/workers.js";
import { LogsPage } from "./pages/logs.js";
import { ConfigurationPage } from "./pages/configuration.js";
import { SubmitPage } from "./pages/submit.js";

const PAGES = [
  ["", "Overview", OverviewPage],
  ["jobs", "Jobs", JobsPage],
  ["workers", "Workers", WorkersPage],
  ["logs", "Logs", LogsPage],
  ["configuration", "Configuration", ConfigurationPage],
  ["submit", "Submit", SubmitPage],
];
// After `g`.
const KEYS = { o: [], j: ["jobs"], w: ["workers"], l: ["logs"], c: ["configuration"], s: ["submit"] };

function App() {
  useTick();
  const route = useRoute();
  const main = useRef(null);
  const [place = "", jobId] = route.parts;
  const jobs = useData("/jobs/overview").value?.jobs ?? [];
  const calling = (useData("/funke/jobs/overview").value?.jobs ?? []).filter(({ alarm }) => alarm && !alarm.acknowledged && !alarm["is-faded"]).length;
  const link = linkState();
  const silentMs = Date.now() - link.heardAt;
  const isStale = silentMs > STALE_MS || (link.error && silentMs > 2000);
  const Page = place === "jobs" && jobId ? JobPage : (PAGES.find(([name]) => name === place) ?? PAGES[0])[2];
  const links = useCurrentInSight(place);
  useKeys();
  useEffect(() => { window.scrollTo(0, 0); }, [route.parts.join("/")]);
  useEffect(() => { document.title = titleOf(route, jobs); });
  return html`<div class=${isStale ? "is-stale" : ""}>
    <a class="hidden" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>To the content</a>
    <header class="top"><div class="top-row">
      <a class="brand" href="#/" aria-label="Funke, overview"><${Icon} name="spark" size=${20} />Funke</a>
      <nav class="nav main" ref=${links} aria-label="Pages">${PAGES.map(([name, title]) => html`<a key=${name} href=${href(name ? [name] : [])} aria-current=${place === name ? "page" : undefined}>${title}${name === "" && calling ? html`<span class="badge" title="jobs with an alarm that was not acknowledged">${calling}</span>` : null}</a>`)}</nav>
      <span class="gap" />
      <${LinkState} link=${link} isStale=${isStale} silentMs=${silentMs} />
      <${Search} jobs=${jobs} job=${jobs.find((each) => place === "jobs" && each.jid === jobId)} />
      <${Theme} />
    </div></header>
    ${!link.isAllowed ? html`<${TokenBanner} />` : isStale ? html`<div class="banner" role="alert"><p><${Icon} name="warning" />${link.hasHeard ? `Last heard from the service ${coarse(silentMs)} ago; what is shown is of ${moment(link.heardAt)}.` : "The service does not answer. Is it running? “funke start-cluster” starts it."}</p></div>` : null}
    <${Page} key=${jobId ?? place} route=${route} mainRef=${main} />
  </div>`;
}

function titleOf({ parts }, jobs) {
  const name = jobs.find((job) => job.jid === parts[1])?.name;
  const title = (PAGES.find(([place]) => place === (parts[0] ?? "")) ?? PAGES[0])[1];
  return name ? `${name} · ${parts[2] ?? "graph"} · Funke` : `${title} · Funke`;
}

function LinkState({ link, isStale, silentMs }) {
  const word = isStale ? "silent" : link.live === "open" ? "live" : "asking";
  return html`<span class="link-state ${isStale ? "lost" : ""}" title=${`Last heard ${coarse(silentMs)} ago`}><span class="dot" />${word}<span class="since figures">${isStale ? ` ${coarse(silentMs)}` : ""}</span></span>`;
}

function TokenBanner() {
  const [text, setText] = useState("");
  return html`<div class="banner" role="alert"><p><${Icon} name="warning" />This service asks for a token. “funke dashboard” opens this page with it; or enter the one in the file rest-token of the folder of jobs (~/.funke).
    <form onSubmit=${(event) => { event.preventDefault(); setToken(text); }}><input type="password" aria-label="Token" value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" /> <button>Use it</button></form></p></div>`;
}

const THEMES = ["auto", "light", "dark"];
function Theme() {
  const [theme, set] = useState(document.documentElement.dataset.theme ?? "auto");
  function next() {
    const chosen = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    try { localStorage.setItem("funke.theme", chosen); } catch { /* for this page only */ }
    set(chosen);
    dispatchEvent(new Event("funke-theme"));
  }
  return html`<button type="button" class="quiet icon-button" onClick=${next} title=${`Theme: ${theme}`} aria-label=${`Theme: ${theme}; change it`}><${Icon} name=${{ auto: "auto", light: "sun", dark: "moon" }[theme]} /></button>`;
}

// The pages of the job that is open.
const pagesOf = (job) => (job ? TABS.map(([name, title]) => ({ title: `${title} · ${job.name}`, to: ["jobs", job.jid, name] })) : []);

function Search({ jobs, job }) {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const input = useRef(null);
  const wanted = text.trim().toLowerCase();
  const targets = [...PAGES.map(([name, title]) => ({ title, to: name ? [name] : [] })), ...pagesOf(job), ...jobs.toReversed().map((job) => ({ title: job.name, state: job.state, also: job.jid, to: ["jobs", job.jid] }))];
  const found = wanted ? targets.filter((each) => `${each.title} ${each.also ?? ""}`.toLowerCase().includes(wanted)).slice(0, 12) : [];
  function close() { setOpen(false); setText(""); input.current?.blur(); }
  function onKeyDown(event) {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); setChosen((chosen + (event.key === "ArrowDown" ? 1 : -1) + found.length) % (found.length || 1)); }
    else if (event.key === "Enter" && found[chosen]) { go(found[chosen].to); close(); }
  }
  const isShown = isOpen && wanted !== "";
  return html`<div class="search" role="search" onFocusOut=${(event) => { if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false); }}>
    <${Icon} name="search" size=${14} />
    <input id="search" ref=${input} type="text" role="combobox" aria-expanded=${String(isShown)} aria-controls="found" aria-autocomplete="list" placeholder="Search" aria-label="Search jobs and pages" value=${text} onInput=${(event) => { setText(event.target.value); setOpen(true); setChosen(0); }} onKeyDown=${onKeyDown} autocomplete="off" /><kbd aria-hidden="true">/</kbd>
    <div id="found" class=${isShown ? "found" : "hidden"} role="listbox" aria-label="Found">${isShown ? found.map((each, index) => html`<a key=${each.to.join("/")} role="option" aria-selected=${String(index === chosen)} class=${index === chosen ? "chosen" : ""} href=${href(each.to)} onClick=${close}>${each.title}${each.state ? html`<${Status} state=${each.state} />` : null}</a>`) : null}
    ${isShown && !found.length ? html`<span class="muted" role="option" aria-selected="false">Nothing is called “${text}”.</span>` : null}</div>
  </div>`;
}

function useKeys() {
  useEffect(() => {
    let isGoing = false;
    function onKeyDown(event) {
      if (event.target.closest("input,textarea,select,dialog") || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
      else if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1200); }
      else if (isGoing && KEYS[event.key]) { isGoing = false; go(KEYS[event.key]); }
    }
    addEventListener("keydown", onKeyDown);
    addEventListener("dblclick", copyExact);
    return () => { removeEventListener("keydown", onKeyDown); removeEventListener("dblclick", copyExact); };
  }, []);
}

async function copyExact(event) {
  const value = event.target.closest("data.num")?.value;
  if (!value) return;
  await copyText(value);
  const toast = Object.assign(document.createElement("div"), { className: "toast", role: "status", textContent: `${value} copied` });
  document.body.append(toast);
  setTimeout(() => toast.remove(), 1500);
}

start();
render(html`<${App} />`, document.getElementById("app"));
