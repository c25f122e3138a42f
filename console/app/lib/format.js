import { html } from "./preact.js";
import { createStore } from "./store.js";

const LANGUAGE = navigator.language;
const DAY_MS = 86_400_000;
const time = new Intl.DateTimeFormat(LANGUAGE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dayAndTime = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const dayAndSecond = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const clockTime = new Intl.DateTimeFormat(LANGUAGE, { timeStyle: "medium", hourCycle: "h23" });
const days = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "full" });
const numbers = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Format an ISO time in the user's time zone: the time alone for today, else day and time. */
export function when(iso) {
  const at = new Date(iso);
  return at.toDateString() === new Date().toDateString() ? time.format(at) : dayAndTime.format(at);
}

/** Format the time of day of seconds since the epoch, in the user's time zone: 14:05:09. */
export const clock = (seconds) => clockTime.format(seconds * 1000);

/** Format the day of a Date in the user's time zone, such as "Monday, 23 November 2026". */
export const fullDay = (at) => days.format(at);

/** Format how long ago an ISO time was: "just now", "5 min ago", "3 h ago", "2 days ago". */
export function ago(iso, now = Date.now()) {
  const ms = now - Date.parse(iso);
  if (ms < 60_000) return "just now";
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / 3_600_000)} h ago`;
  return `${plural(Math.floor(ms / DAY_MS), "day")} ago`;
}

const minute = createStore(Date.now());
setInterval(() => minute.set(Date.now()), 60_000);

function Ago({ at }) {
  minute.use(); // draws it anew as it grows older
  return ago(at);
}

/** A time as users read it, with the exact ISO time on hover.
 *
 * `relative` shows how long ago it was; `dated` shows its day even today, where no list of the same day is around it.
 */
export function Time({ at, relative = false, dated = false }) {
  if (!at) return html`<span class="quiet">never</span>`;
  const shown = dated ? dayAndSecond.format(new Date(at)) : when(at);
  return html`<time datetime=${at} title=${at}>${relative ? html`<${Ago} at=${at} />` : shown}</time>`;
}

/** Format a number with its thousands apart: 12,345. */
export const number = (value) => numbers.format(value);

/** Format a number in a few characters: 12.3K. */
export const compact = (value) => short.format(value);

/** Format a size: 512 B, 1.5 KB, 20 MB. */
export function bytes(size) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = size < 1 ? 0 : Math.min(Math.floor(Math.log(size) / Math.log(1024)), units.length - 1);
  const value = size / 1024 ** power;
  return `${power === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Format milliseconds: 0.4 ms, 12 ms, 1.2 s, 3 min, 2 h 5 min, 4 days. */
export function duration(ms) {
  if (ms < 10) return `${Number(ms.toFixed(ms < 1 ? 2 : 1))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return plural(Math.floor(ms / DAY_MS), "day");
}

/** Format a count with its noun: plural(2, "agent") is "2 agents"; an irregular plural is the third argument. */
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
