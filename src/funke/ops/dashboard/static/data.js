// The service's answers: one store of answers by path, kept fresh by one stream of events, or by asking again.
import { useEffect, useState } from "./view.js";

const API = "./v1";
const REFRESH_MS = 1000;
export const STALE_MS = 10_000;
const FORGET_MS = 60_000;

const entries = new Map();
const listeners = new Set();
// `offset`: the service's clock minus this one. Times in answers are the service's.
const link = { heardAt: Date.now(), hasHeard: false, offset: 0, error: null, isAllowed: true, live: "unknown" };
let stream = null;
let streamPaths = "";
let streamed = new Set();
let refreshMs = 3000;
let token = readToken();
const pageHalf = readPageHalf();

function readToken() {
  try { return sessionStorage.getItem("funke.token"); } catch { return null; }
}

// The link of `funke dashboard` leaves one half of the key as a cookie and the other one behind `#`, for this address alone.
function readPageHalf() {
  const given = /^#login=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (given) history.replaceState(null, "", "#/");
  try {
    if (given) localStorage.setItem("funke.page", given);
    return given ?? localStorage.getItem("funke.page");
  } catch { return given ?? null; }
}

const credentials = () => (token ? { authorization: `Bearer ${token}` } : pageHalf ? { "x-funke-page": pageHalf } : {});

export function setToken(text) {
  token = text.trim() || null;
  try { sessionStorage.setItem("funke.token", token ?? ""); } catch { /* kept for this page only */ }
  link.isAllowed = true;
  for (const path of entries.keys()) load(path);
  connect(true);
}

export const now = () => Date.now() + link.offset;
export const linkState = () => link;

function heard(response) {
  link.heardAt = Date.now();
  link.hasHeard = true;
  link.error = null;
  const date = Date.parse(response?.headers.get("date") ?? "");
  if (Number.isFinite(date)) {
    // The header has whole seconds; small differences are its rounding, not the clock.
    const offset = date + 500 - Date.now();
    if (Math.abs(offset) > 1500 || Math.abs(link.offset) > 1500) link.offset = offset;
  }
}

export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function request(path, { method = "GET", body, form, signal, asText = false } = {}) {
  const headers = credentials();
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(API + path, { method, headers, body: form ?? (body === undefined ? undefined : JSON.stringify(body)), signal, cache: "no-store" });
  } catch (error) {
    if (error.name !== "AbortError") { link.error = "The service does not answer"; tell(); }
    throw error.name === "AbortError" ? error : new ServiceError(0, "The service does not answer");
  }
  heard(response);
  if (response.status === 401) { link.isAllowed = false; tell(); }
  const text = await response.text();
  if (!response.ok) throw new ServiceError(response.status, errorText(text, response));
  return asText ? text : text ? JSON.parse(text) : {};
}

function errorText(text, response) {
  try { return JSON.parse(text).errors.join("\n"); } catch { return text.slice(0, 300) || `${response.status} ${response.statusText}`; }
}

function entryOf(path) {
  if (!entries.has(path)) entries.set(path, { value: undefined, error: null, at: 0, watchers: 0, isLoading: false, leftAt: 0 });
  return entries.get(path);
}

// Asks at once, not when it is due: something was changed from here.
export const reload = (path) => load(path);

async function load(path) {
  const entry = entryOf(path);
  if (entry.isLoading) return;
  entry.isLoading = true;
  try {
    settle(entry, await request(path), null);
  } catch (error) {
    if (error.status !== 0) settle(entry, undefined, error);
  } finally {
    entry.isLoading = false;
    tell();
  }
}

function settle(entry, value, error) {
  entry.at = Date.now();
  entry.error = error;
  if (!error) entry.value = value;
}

let isTelling = false;
function tell() {
  if (isTelling) return;
  isTelling = true;
  queueMicrotask(() => { isTelling = false; for (const each of [...listeners]) each(); });
}

// Watching

// What stays as it is as long as the service runs is asked for once.
const isFixed = (path) => ["/config", "/funke", "/funke/options"].includes(path);
const watched = () => [...entries].filter(([path, entry]) => entry.watchers > 0 && !isFixed(path)).map(([path]) => path);

let reconnecting = 0;
function connect(isForced = false) {
  clearTimeout(reconnecting);
  reconnecting = setTimeout(() => open(isForced), 60);
}

async function open(isForced) {
  // A failing path is asked for again by hand: an operator may not exist yet.
  const paths = watched().sort().slice(0, 64);
  const wanted = paths.join(" ");
  if (link.live === "absent" || document.hidden || (!isForced && wanted === streamPaths && stream)) return;
  stream?.abort();
  stream = null;
  streamPaths = wanted;
  streamed = new Set(paths);
  if (!paths.length) return;
  const own = new AbortController();
  stream = own;
  try {
    await follow(paths, own.signal);
  } catch (error) {
    if (own.signal.aborted) return;
    if (error.status === 404) link.live = "absent";
    else { link.live = "lost"; reconnecting = setTimeout(() => open(true), 2000); }
  }
  if (stream === own) stream = null;
  if (link.live === "open") { link.live = "lost"; reconnecting = setTimeout(() => open(true), 1000); }
}

async function follow(paths, signal) {
  const query = paths.map((path) => `path=${encodeURIComponent(path)}`).join("&");
  const response = await fetch(`${API}/funke/live?${query}`, { headers: credentials(), signal, cache: "no-store" });
  if (!response.ok) throw new ServiceError(response.status, "no stream");
  heard(response);
  link.live = "open";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) take(event);
  }
}

function take(event) {
  link.heardAt = Date.now();
  link.hasHeard = true;
  link.error = null;
  const lines = event.split("\n");
  const data = lines.find((line) => line.startsWith("data: "));
  if (lines.includes("event: beat")) {
    link.offset = offsetOf(data);
    // Answers that have not changed are as fresh as the beat.
    for (const path of streamed) { const entry = entries.get(path); if (entry && !entry.error && entry.value !== undefined) entry.at = Date.now(); }
  }
  else if (data) {
    const { path, status, body } = JSON.parse(data.slice(6));
    const entry = entries.get(path);
    if (entry) settle(entry, body, status === 200 ? null : new ServiceError(status, body?.errors?.join("\n") ?? String(status)));
  }
  tell();
}

function offsetOf(data) {
  const at = Number(data?.slice(6));
  return Number.isFinite(at) && at > 0 && Math.abs(at - Date.now()) > 1500 ? at - Date.now() : 0;
}

function tick() {
  if (document.hidden) return;
  const isLive = link.live === "open";
  for (const [path, entry] of entries) {
    const age = Date.now() - entry.at;
    if (isFixed(path) && entry.value !== undefined) continue;
    if (entry.watchers > 0 && !entry.isLoading && (((!isLive || !streamed.has(path)) && age >= refreshMs) || (entry.error && age >= 5000))) load(path);
    else if (entry.watchers === 0 && Date.now() - entry.leftAt > FORGET_MS) entries.delete(path);
  }
  // Each beat of the stream draws the page; without any, it is drawn to say so.
  if (!isLive || Date.now() - link.heardAt > 2 * REFRESH_MS) tell();
}

export function start() {
  setInterval(tick, REFRESH_MS);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stream?.abort(); stream = null; if (link.live === "open") link.live = "lost"; } else { tick(); connect(true); }
  });
  request("/config").then((config) => { refreshMs = Math.max(500, config["refresh-interval"] ?? 3000); }).catch(() => {});
}

function watch(path) {
  const entry = entryOf(path);
  entry.watchers += 1;
  if (!entry.at || Date.now() - entry.at > REFRESH_MS) load(path);
  connect();
  return () => {
    entry.watchers -= 1;
    entry.leftAt = Date.now();
    connect();
  };
}

// Hooks

export function useTick() {
  const [, set] = useState(0);
  useEffect(() => {
    const again = () => set((number) => number + 1);
    listeners.add(again);
    return () => listeners.delete(again);
  }, []);
}

const NOTHING = { value: undefined, error: null, at: 0 };

// The answers to several paths, by path; what is not known yet is missing.
export function useAll(paths) {
  useTick();
  const key = paths.filter(Boolean).join(" ");
  useEffect(() => {
    const ends = key ? key.split(" ").map(watch) : [];
    return () => ends.forEach((end) => end());
  }, [key]);
  return Object.fromEntries(paths.filter(Boolean).map((path) => [path, entries.get(path) ?? NOTHING]));
}

export function useData(path) {
  return useAll([path])[path] ?? NOTHING;
}

// Whether the service has a path beyond those of Flink's REST interface; undefined until that is known.
export function useOffers(path) {
  const { value, error } = useData("/funke");
  return value ? value.paths.includes(path) : error ? false : undefined;
}
