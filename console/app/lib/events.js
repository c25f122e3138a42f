import { headersFor } from "./api.js";
import { connection } from "./connection.js";
import { bodyOf, ENDED, errorOf } from "./http.js";
import { hasEnded, onEnded, session } from "./session.js";

const WAITS_MS = [500, 1000, 2000, 5000];
const SILENCE_MS = 45_000; // three heartbeats
const GOES_ON = new Set(["too slow", "gateway stops"]); // after these ends a stream is taken up again
const SESSION_ENDS = new Set(["logged off", "revoked", "expired", "suspended"]);
let streams = 0;

/** Follow a stream of server-sent events; returns a function that closes it.
 *
 * onEvent gets {id, event, data} with data decoded from JSON. onState gets "connecting", "open", "lost" (it tries
 * again by itself, with Last-Event-ID), or "ended" with a reason: the stream's own, or an ApiError. `resume: false` is
 * for answers such as AP_Chat's, which are read once, also while the page is hidden.
 */
export function openEvents({ method = "GET", path, body, headers, lastEventId = null, resume = true, ...on }) {
  const source = `stream ${++streams}`;
  const stream = { source, last: lastEventId, tries: 0, stopped: false, timer: null, abort: null, csrf: null };
  const tell = (state, reason) => on.onState?.(state, reason);

  function end(reason) {
    close();
    tell("ended", reason);
    if (SESSION_ENDS.has(reason)) onEnded(reason, stream.csrf);
  }

  function ended(reason) {
    if (!resume || !GOES_ON.has(reason)) end(reason);
  }

  function again() {
    if (stream.stopped) return;
    if (!resume) return end(null);
    connection.lost(stream.source);
    tell("lost");
    stream.timer = setTimeout(open, WAITS_MS[Math.min(stream.tries++, WAITS_MS.length - 1)]);
  }

  async function open() {
    if (stream.stopped || hasEnded() || (resume && document.hidden)) return;
    clearTimeout(stream.timer);
    const abort = new AbortController();
    stream.abort = abort;
    stream.csrf = session()?.csrf;
    tell("connecting");
    try {
      const response = await fetch(path, request(abort.signal));
      if (!response.ok) return await refused(response);
      stream.tries = 0;
      connection.back(stream.source);
      tell("open");
      on.onOpen?.(response);
      if (response.status === 204) return end(null);
      await readEvents(response.body, abort, (event) => {
        if (event.id !== null) stream.last = event.id;
        if (event.event === "end") ended(event.data?.reason ?? event.data ?? null);
        else if (!stream.stopped) on.onEvent?.(event);
      });
    } catch (failure) {
      if (!abort.signal.aborted && !(failure instanceof TypeError)) throw failure; // TypeError: the network's
    }
    if (abort.signal.reason !== "closed") again();
  }

  async function refused(response) {
    const error = errorOf(response, await bodyOf(response));
    if (ENDED.has(error.code)) onEnded(error.code, stream.csrf);
    if (error.http >= 500 && resume) again();
    else end(error);
  }

  function request(signal) {
    const sent = { Accept: "text/event-stream", ...headersFor(method), ...headers };
    if (stream.last !== null && resume) sent["Last-Event-ID"] = stream.last;
    if (body !== undefined) sent["Content-Type"] = "application/json";
    return { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), signal };
  }

  function pause() {
    clearTimeout(stream.timer);
    stream.abort?.abort("closed");
    connection.back(stream.source);
  }

  function seen() {
    if (document.hidden) pause();
    else open();
  }

  function close() {
    stream.stopped = true;
    if (resume) document.removeEventListener("visibilitychange", seen);
    pause();
  }

  if (resume) document.addEventListener("visibilitychange", seen);
  open();
  return close;
}

/** Read a body of server-sent events: take(event) gets each; a silence of 45 s aborts `abort`. */
export async function readEvents(bytes, abort, take) {
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let silence = null;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort("silent"), SILENCE_MS);
  };
  try {
    heard();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) take(event);
      }
    }
  } finally {
    clearTimeout(silence);
  }
}

/** Decode one event of a stream: {id, event, data}; null for comments. */
export function eventOf(block) {
  const fields = { id: null, event: "message", data: [] };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name === "data") fields.data.push(value);
    else if (name === "id" || name === "event") fields[name] = value;
  }
  if (fields.data.length === 0) return fields.id === null ? null : { ...fields, data: null };
  const text = fields.data.join("\n");
  try {
    return { ...fields, data: JSON.parse(text) };
  } catch {
    return { ...fields, data: text };
  }
}
