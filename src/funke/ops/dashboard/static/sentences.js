// The first line of every page: from what the service tells to one sentence that answers the page's question.
import { ago, bytes, chainParts, clock, coarse, count, duration, isNumber, list, percent, plural, quoted, rate, short, withoutUpload } from "./words.js";
import { isEnded, stateWord } from "./parts.js";

const LOW = 0.1;
const NO_INTERVAL = 9e15;

const sentence = (level, text, more) => ({ level, text, more });
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const timesText = (number) => (number === 1 ? "once" : number === 2 ? "twice" : `${number} times`);

export function cause(failure) {
  const name = failure.exceptionName?.split(".").pop() || "an error";
  const first = messageOf(failure);
  const where = failure.operator ? ` in ${quoted(failure.operator)}` : failure.taskName ? ` in ${quoted(failure.taskName)}` : "";
  const line = lineOf(failure);
  const what = first && !first.startsWith(name) ? `${name}: ${first}` : first || name;
  return `${line ? `${line} raised ` : ""}${short(what, 120)}${where}`;
}

export function lineOf(failure) {
  const line = withoutUpload(failure["user-line"] ?? "");
  const found = /([^/\\\s]+:\d+)\s*$/.exec(line);
  return found ? found[1] : line || null;
}

// The exception's own words: the line that names it, or else the first one.
export function messageOf(failure) {
  const name = failure.exceptionName?.split(".").pop();
  const lines = (failure.stacktrace ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  const own = name && lines.findLast((line) => line.startsWith(`${name}:`) || line === name || line.includes(`.${name}:`));
  return own ? own.slice(own.indexOf(name)) : lines[0] ?? "";
}

function checkpointLate(job, checkpoints, settings, now) {
  const interval = settings?.interval;
  if (!checkpoints || !isNumber(interval) || interval >= NO_INTERVAL || job.state !== "RUNNING") return null;
  const last = checkpoints.latest?.completed;
  const since = last?.latest_ack_timestamp ?? job["start-time"];
  if (now - since < Math.max(3 * interval, 60_000)) return null;
  const why = checkpoints.latest?.failed?.failure_message;
  const isNewer = (checkpoints.latest?.failed?.trigger_timestamp ?? 0) > since;
  return `has not completed a checkpoint for ${coarse(now - since)}${why && isNewer ? `, ${short(why.split("\n")[0], 120)}` : ""}`;
}

export function jobsSentence(jobs, shown, now) {
  if (!jobs.length) return sentence("none", "No job has run here yet.");
  const by = (state) => jobs.filter((job) => job.state === state).length;
  const running = jobs.filter((job) => !isEnded(job.state)).length;
  const words = [[running, "running"], [by("FINISHED"), "finished"], [by("CANCELED"), "cancelled"], [by("FAILED"), "failed"]].filter(([number]) => number).map(([number, word]) => `${number} ${word}`);
  const newest = jobs.reduce((last, job) => (job["start-time"] > last["start-time"] ? job : last));
  const part = shown.length === jobs.length ? "" : ` ${shown.length} shown.`;
  return sentence(by("FAILED") ? "warn" : running ? "good" : "none", `${plural(jobs.length, "job")}: ${list(words)}. The newest is ${newest.name}, started ${ago(newest["start-time"], now)}.${part}`);
}

// Graph

// Tells `root` as well, the vertex that holds the others up. `loads`: by vertex id {busy, most, back, idle, parts (records per subtask), isMeasured}.
export function graphSentence(job, nodes, loads, now) {
  if (isEnded(job.state)) return endedSentence(job, now);
  if (job["waiting-for"]) return sentence("warn", `Not begun yet: waits for ${job["waiting-for"]}.`);
  if (job.state === "SUSPENDED") return sentence("warn", "Suspended: its driver is gone. “funke recover” goes on from the last checkpoint.");
  if (job.state !== "RUNNING") return sentence("warn", `${capital(stateWord(job.state))} for ${coarse(now - (job.timestamps?.[job.state] || now))}.`);
  if (job.bottleneck?.["is-held"]) return { ...sentence("bad", job.bottleneck.sentence.replace(/"([^"]+)"/, "“$1”")), root: job.bottleneck.vertex };
  const known = nodes.filter((node) => loads[node.id]?.isMeasured);
  if (!known.length) return sentence("busy", `Runs for ${coarse(now - job["start-time"])}; how busy its subtasks are is not measured yet.`);
  const pressed = known.filter((node) => loads[node.id].mostBack > LOW);
  const told = known.find((node) => node.id === job.bottleneck?.vertex);
  const root = told ?? rootOf(known, nodes, loads, pressed);
  if (!pressed.length) return unpressed(root, loads);
  const load = loads[root.id];
  const before = pressed.filter((node) => node !== root);
  const upstream = ancestors(root, nodes);
  const waiting = before.filter((node) => upstream.has(node.id));
  const who = waiting.length && waiting.length === upstream.size ? "everything before it waits" : waiting.length ? `${list(waiting.map((node) => quoted(nameOf(node))))} ${waiting.length === 1 ? "waits" : "wait"} for it` : "it is held up itself";
  const line = told && job.bottleneck["user-line"] ? ` Most of its time it is at ${lineOf(job.bottleneck)}.` : "";
  return { ...sentence("warn", `${quoted(nameOf(root))} is the bottleneck: busy ${percent(load.most)}, ${who}.${told && job.bottleneck.key ? keySentence(job.bottleneck) : skewSentence(load)}${line}`), root: root.id };
}

const keySentence = (found) => ` ${percent(found["key-share"])} of its records have the key ${found.key}.`;

function unpressed(root, loads) {
  const load = loads[root.id];
  if (load.most < 0.05) return sentence("good", `Nothing waits; there is little to do: the busiest, ${quoted(nameOf(root))}, is busy ${percent(load.most)} of its time.`);
  const close = load.most >= 0.9 ? " It is close to its limit." : "";
  return sentence(close ? "warn" : "good", `Nothing waits. The busiest is ${quoted(nameOf(root))}, busy ${percent(load.most)} of its time.${close}${skewSentence(load)}`);
}

// Flink's rule: pressed ones are held up by those behind them; the first busy one that is not pressed is the cause.
function rootOf(known, nodes, loads, pressed) {
  const free = known.filter((node) => loads[node.id].mostBack <= LOW);
  const behind = free.filter((node) => [...ancestors(node, nodes)].some((id) => pressed.some((each) => each.id === id)));
  const candidates = behind.length ? behind : free.length ? free : known;
  return candidates.reduce((most, node) => (loads[node.id].most > loads[most.id].most ? node : most));
}

export function ancestors(node, nodes) {
  const byId = new Map(nodes.map((each) => [each.id, each]));
  const found = new Set();
  const walk = (each) => { for (const { id } of each?.inputs ?? []) if (!found.has(id)) { found.add(id); walk(byId.get(id)); } };
  walk(node);
  return found;
}

export function skewOf(parts) {
  const total = (parts ?? []).reduce((sum, each) => sum + each, 0);
  if (!total || parts.length < 2) return null;
  const most = Math.max(...parts);
  return { share: most / total, subtask: parts.indexOf(most), factor: most / (total / parts.length) };
}

function skewSentence(load) {
  const skew = skewOf(load.parts);
  return skew && skew.factor >= 1.5 ? ` ${percent(skew.share)} of its records go to subtask ${skew.subtask}.` : "";
}

// A vertex is called by the first operator of its chain, whose id it has.
export const nameOf = (node) => { const parts = chainParts(node.description ?? ""); return short(parts[0] ?? node.id, 40); };

function endedSentence(job, now) {
  const read = (job.vertices ?? []).reduce((sum, vertex) => sum + (vertex.metrics?.["read-records"] ?? 0), 0);
  const words = { FINISHED: "Finished", CANCELED: "Was cancelled", FAILED: "Failed" };
  const level = { FINISHED: "good", CANCELED: "none", FAILED: "bad" }[job.state];
  return sentence(level, `${words[job.state]} ${ago(job["end-time"], now)} after ${duration(job.duration)}${read ? `; its operators took ${count(read)} records` : ""}.`);
}

// Checkpoints

export function checkpointSentence(job, checkpoints, settings, now) {
  const last = checkpoints.latest?.completed;
  const savepoint = checkpoints.latest?.savepoint;
  const isOn = isNumber(settings?.interval) && settings.interval < NO_INTERVAL && settings.interval > 0;
  if (isEnded(job.state)) return endedCheckpoints(checkpoints, last, savepoint, job);
  if (!isOn && !last && !savepoint) return sentence("warn", "Checkpointing is off: a failure loses everything since the start.", "Set execution.checkpointing.interval to change that.");
  if (!last && !savepoint) return sentence("none", `No checkpoint is complete yet; one is due every ${duration(settings?.interval)}. A failure now repeats everything since the start.`);
  const newest = [last, savepoint].filter(Boolean).reduce((a, b) => (a.id > b.id ? a : b));
  const late = checkpointLate(job, checkpoints, settings, now);
  const what = newest.is_savepoint ? "savepoint" : "checkpoint";
  const repeats = coarse(now - newest.trigger_timestamp);
  if (late) return sentence("warn", `${capital(late.replace(/^has not/, "no").replace("no completed a checkpoint", "no checkpoint completed"))}. A failure now repeats ${repeats} of work.`);
  return sentence("good", `Last ${what} ${ago(newest.latest_ack_timestamp, now)}, ${bytes(newest.state_size)} in ${duration(newest.end_to_end_duration)}. A failure now repeats at most ${repeats}.`);
}

function endedCheckpoints(checkpoints, last, savepoint) {
  const newest = [last, savepoint].filter(Boolean).sort((a, b) => b.id - a.id)[0];
  if (!newest) return sentence("none", "The job has ended and left no checkpoint.");
  return sentence("none", `The job has ended; its last ${newest.is_savepoint ? "savepoint" : "checkpoint"} holds ${bytes(newest.state_size)}.`, "A new run can start from it if it was kept.");
}

// Exceptions

// Failures of one kind: the same line of the same operator raised the same. Their messages may hold other values.
export const kindOf = (failure) => `${failure.exceptionName} ${lineOf(failure)} ${failure["operator-id"] ?? failure.taskName}`;

// `total`: how many there were; the last ones are kept.
export function exceptionSentence(entries, total, now) {
  if (!entries.length) return sentence("good", "Nothing broke.");
  const [first] = entries;
  const same = entries.filter((each) => kindOf(each) === kindOf(first));
  const others = entries.length - same.length;
  const isAll = total > entries.length && !others;
  const span = isAll ? `, ${timesText(total)} in all, the last time ${ago(first.timestamp, now)}` : same.length > 1 ? `, ${timesText(same.length)} in ${coarse(Math.max(60_000, now - same.at(-1).timestamp))}` : `, ${ago(first.timestamp, now)}`;
  return sentence(now - first.timestamp < 600_000 ? "bad" : "warn", `${cause(first)}${span}.${others ? ` ${plural(total - same.length, "other failure")} before.` : ""}`);
}

// Timeline

// `number`: of all failures; the last ones are known by when and what.
export function timelineSentence(job, restarts, failures, number, now) {
  const begun = `${duration(job.duration)}`;
  const last = failures?.[0];
  const again = restarts ? ` Restarted ${timesText(restarts)}${last ? `, the last time ${ago(last.timestamp, now)}` : ""}.` : " Never restarted.";
  const failed = number > restarts + 1 ? ` ${plural(number, "failure")} in all.` : "";
  if (isEnded(job.state)) return sentence(job.state === "FAILED" ? "bad" : "none", `${capital(stateWord(job.state))} ${ago(job["end-time"], now)} after ${begun}.${again}${failed}`);
  return sentence(restarts ? "warn" : "good", `${capital(stateWord(job.state))}, started ${ago(job["start-time"], now)}.${again}${failed}`);
}

// State

export function stateSentence(total, largest, growth, at, now) {
  if (total === null) return sentence("none", "What it remembers is not known yet: no checkpoint is complete.");
  if (total === 0) return sentence("good", "It remembers nothing.");
  const most = largest ? `, ${percent(largest.bytes / total)} of it in ${largest.name}` : "";
  const moves = growth === null ? "" : Math.abs(growth) < total / 100 ? " It stays that size." : growth > 0 ? ` It grows by ${bytes(growth)} per hour.` : ` It shrinks by ${bytes(-growth)} per hour.`;
  return sentence(growth !== null && growth > total / 2 ? "warn" : "good", `It remembers ${bytes(total)}${most}.${moves}`, at ? `As of ${ago(at, now)}.` : undefined);
}

// Workers

export function workersSentence(workers, overview) {
  if (!workers.length) return sentence("none", "No worker runs: none is needed while no job does.");
  const slots = workers.reduce((sum, each) => sum + each.slotsNumber, 0);
  const hosts = new Set(workers.map(hostOf)).size;
  const free = overview?.["slots-available"];
  const room = isNumber(free) && overview["slots-total"] > 0 ? ` ${free ? `${free} of ${overview["slots-total"]} slots are free.` : `All ${overview["slots-total"]} slots are taken: a further job waits.`}` : "";
  return sentence(free === 0 && overview?.["slots-total"] > 0 ? "warn" : "good", `${plural(workers.length, "worker")} on ${plural(hosts, "host")} ${workers.length === 1 ? "has" : "have"} ${plural(slots, "slot")}.${room}`);
}
export const hostOf = (worker) => / on (.+)$/.exec(worker.path ?? "")?.[1] ?? (worker.path?.includes("/") ? worker.id : worker.path ?? worker.id);

// History

const CHANGED = 0.3;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

// When a metric took its present level, and what it was before; null when it stays as it is.
export function lastChange(times, values) {
  const known = values.map((value, index) => [times[index], value]).filter(([, value]) => isNumber(value));
  if (known.length < 12) return null;
  const before = median(known.slice(0, Math.floor(known.length / 2)).map(([, value]) => value));
  const after = median(known.slice(-6).map(([, value]) => value));
  const step = Math.abs(after - before);
  if (step <= CHANGED * Math.max(Math.abs(before), Math.abs(after))) return null;
  const isNew = (value) => Math.abs(value - after) < step / 2;
  let first = known.length - 1;
  while (first > 0 && isNew(median(known.slice(Math.max(0, first - 2), first + 1).map(([, value]) => value)))) first -= 1;
  return { at: known[first][0], before, after };
}

// A lag does not jump: it began to grow when it was last near where it had been.
function riseBegan(times, values, { before, after }) {
  const last = values.findLastIndex((value) => isNumber(value) && value <= before + (after - before) / 20);
  return times[Math.max(0, last)];
}

export function historySentence({ times, series, markers }) {
  if (times.length < 12) return sentence("none", `${plural(times.length, "look")} so far; an hour is kept.`);
  const restarts = markers.filter(({ kind }) => kind === "restarted").length;
  const again = restarts ? ` Restarted ${timesText(restarts)} meanwhile.` : "";
  const span = coarse(times.at(-1) - times[0]);
  const lag = lastChange(times, series.lag);
  if (lag && lag.after > lag.before && lag.after > 60_000) return sentence("warn", `It falls behind: ${coarse(lag.after)} behind, more and more since about ${clock(riseBegan(times, series.lag, lag))}, when it was ${coarse(lag.before)}.${again}`);
  const reads = lastChange(times, series["records-in"]);
  if (reads) return sentence(reads.after < reads.before ? "warn" : "good", `It reads ${rate(reads.after)} since about ${clock(reads.at)}, ${rate(reads.before)} before.${again}`);
  return sentence(restarts ? "warn" : "good", `Steady for ${span}.${again}`);
}

// Metrics

export const metricsSentence = (picked, known) => (known ? picked ? sentence("none", `${plural(picked, "chart")} of ${plural(known, "metric")}; the address keeps the pick.`) : sentence("none", `${plural(known, "metric")} to choose from: pick some, the address keeps the pick.`) : sentence("none", "Nothing is measured yet."));

