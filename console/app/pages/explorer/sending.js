import { headersFor, newKey } from "../../lib/api.js";
import { readEvents } from "../../lib/events.js";
import { bodyOf, ENDED, send } from "../../lib/http.js";
import { useEffect, useRef, useState } from "../../lib/preact.js";
import { checkSession, onEnded, session } from "../../lib/session.js";
import { requestOf } from "./request.js";

const MAX_EVENTS = 500;
const ENDS_SESSIONS = new Set(["US_LogOff", "US_Destroy", "US_Revoke"]);

/** Send commands and follow their answers: {answer, busy, run(command, body, {stream, after}), stop, clear}.
 *
 * `answer` is {http, ms, headers, body?, events?, text?, state, failure?}; `state` is "open" while events arrive, then
 * "done" or "stopped".
 */
export function useSending() {
  const [answer, setAnswer] = useState(null);
  const [busy, setBusy] = useState(false);
  const under = useRef(null);
  useEffect(() => () => under.current?.abort("closed"), []);

  const run = async (command, body, options) => {
    if (under.current) return;
    const abort = new AbortController();
    under.current = abort;
    setBusy(true);
    setAnswer(null);
    let last = null;
    const tell = (changes) => {
      last = { ...last, ...changes };
      if (abort.signal.reason !== "closed") setAnswer(last);
    };
    try {
      await exchange(command, body, options, abort, tell);
    } catch (failure) {
      if (abort.signal.aborted) tell({ state: "stopped" });
      else tell({ state: "done", failure });
    } finally {
      under.current = null;
      if (abort.signal.reason !== "closed") setBusy(false);
    }
    if (ENDS_SESSIONS.has(command.service)) checkSession();
  };
  return { answer, busy, run, stop: () => under.current?.abort("stopped"), clear: () => setAnswer(null) };
}

async function exchange(command, body, { stream, after }, abort, tell) {
  const began = performance.now();
  const passed = () => performance.now() - began;
  const headers = headersFor("POST", command.keyed ? newKey() : null);
  if (stream || command.endless) headers.Accept = "text/event-stream";
  if (command.endless && after) headers["Last-Event-ID"] = after;
  const { bus, csrf } = session();
  const response = await send("POST", bus, { body: requestOf(command, body), headers, signal: abort.signal });
  const head = { http: response.status, ms: passed(), headers: [...response.headers], state: "open" };
  if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    await follow(response, { ...head, events: [], text: "", count: 0 }, passed, abort, tell);
  } else {
    const received = await bodyOf(response);
    tell({ ...head, ms: passed(), body: received, state: "done" });
    const code = received?.status?.internal_code;
    if (ENDED.has(code) && !command.open) onEnded(code, csrf);
  }
}

/** Collect the events of a stream; the last of them may hold a whole answer or an error. */
async function follow(response, head, passed, abort, tell) {
  const now = { ...head };
  tell(now);
  await readEvents(response.body, abort, ({ id, event, data }) => {
    if (data === null) return;
    now.count += 1;
    now.events = [...now.events, { at: passed(), id, event, data, number: now.count }].slice(-MAX_EVENTS);
    if (event === "delta") now.text += data.text;
    if (event === "response") now.body = data;
    if (event === "error") now.body = { status: data };
    tell({ ...now, ms: passed() });
  });
  tell({ state: "done", ms: passed() });
}
