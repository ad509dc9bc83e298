// Numbers, times and sizes as people say them; the exact value goes into a title beside them.

const NONE = "–";
// Flink's way of saying "no limit" and "no watermark yet".
const LONG_MAX = 9223372036854775000;

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const trimmed = (value, digits) => value.toFixed(digits).replace(/\.0+$/, "");
const digitsFor = (value) => (value < 10 ? 1 : 0);

function scaled(value, step, units) {
  let size = Math.abs(value);
  let unit = 0;
  while (unit < units.length - 1 && size >= step * 0.9995) { size /= step; unit += 1; }
  const text = unit === 0 ? trimmed(size, size < 10 ? 1 : 0) : trimmed(size, digitsFor(size));
  return `${value < 0 ? "−" : ""}${text}${units[unit] ? ` ${units[unit]}` : ""}`;
}

export const count = (value) => (isNumber(value) ? scaled(value, 1000, ["", "k", "M", "G", "T"]) : NONE);
export const bytes = (value) => (isNumber(value) && value >= 0 ? scaled(value, 1000, ["B", "kB", "MB", "GB", "TB"]) : NONE);
export const rate = (value) => (isNumber(value) ? `${count(value)}/s` : NONE);
export const byteRate = (value) => (isNumber(value) ? `${bytes(value)}/s` : NONE);
export const percent = (part) => (isNumber(part) ? `${Math.round(part * 100)} %` : NONE);
export const exact = (value) => (isNumber(value) ? value.toLocaleString("en-GB", { maximumFractionDigits: 3 }) : "not known");
export const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

export function duration(ms) {
  if (!isNumber(ms) || ms < 0) return NONE;
  if (ms >= LONG_MAX) return "never";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${trimmed(s, 1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return both(s, 60, "min", 1, "s", s < 600);
  if (s < 86400) return both(s, 3600, "h", 60, "min", true);
  return both(s, 86400, "d", 3600, "h", true);
}

function both(s, large, largeUnit, small, smallUnit, isFine) {
  const whole = Math.floor(s / large);
  const rest = Math.floor((s - whole * large) / small);
  return isFine && rest ? `${whole} ${largeUnit} ${rest} ${smallUnit}` : `${whole} ${largeUnit}`;
}

export const ago = (since, now) => (isNumber(since) && since > 0 ? `${coarse(Math.max(0, now - since))} ago` : NONE);

// Of a time that has passed, tenths of a second mean nothing, and after two minutes seconds neither.
export const coarse = (ms) => (ms < 1000 ? "0 s" : duration(Math.floor(ms / (ms < 120_000 ? 1000 : 60_000)) * (ms < 120_000 ? 1000 : 60_000)));

const two = (number) => String(number).padStart(2, "0");
export function moment(ms) {
  if (!isNumber(ms) || ms <= 0) return NONE;
  if (ms >= LONG_MAX) return "end of input";
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(ms)}`;
}
export function clock(ms) {
  if (!isNumber(ms) || ms <= 0) return NONE;
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export const watermark = (value) => (value >= LONG_MAX ? "end of input" : value <= -LONG_MAX ? NONE : moment(value));
// How far event time is behind. Ten years are no lag: the records are made up, or the first one has not come yet.
const LONGEST_LAG = 10 * 365 * 86_400_000;
export const isTestTime = (mark, now) => isNumber(mark) && now - mark > LONGEST_LAG;
export const behind = (mark, now) => (mark >= LONG_MAX ? "end" : mark <= -LONG_MAX ? "not started" : isTestTime(mark, now) ? "test data" : `−${coarse(Math.max(0, now - mark))}`);
export const short = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
export const quoted = (name) => `“${name}”`;
// A chain's name is its operators' names with arrows between; people call it by one of them.
export const chainParts = (description) => description.split(/<br\s*\/?>|\n/).map((each) => each.replace(/^[\s:]*(\+- )?/, "").trim()).filter(Boolean);
// The file of a program that was sent has the id of its upload before its name.
export const withoutUpload = (text) => text.replace(/\b[0-9a-f]{32}_(?=\S+\.)/g, "");
