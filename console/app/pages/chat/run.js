import { connection } from "../../lib/connection.js";
import { openEvents } from "../../lib/events.js";
import { ApiError } from "../../lib/http.js";
import { isLoggedOn, session } from "../../lib/session.js";

const WAITS_MS = [300, 1000, 2000, 5000];
const SESSION_ENDED = "Your session ended before this message was answered.";

/** Follow one AP_Chat of `user` to its end, over lost connections; returns a function that stops following.
 *
 * It begins with `body` under the Idempotency-Key `key`, or goes on with the run `run`. on.begun(run) tells the run's
 * id, on.unreached() that the gateway was not reached, so that the message is sent once more, on.text(whole) the reply
 * so far, on.ended(messages) both messages, on.failed(ApiError) why there is no reply.
 */
export function followRun({ user, body, key, run = null, on }) {
  const state = { run, text: "", last: null, tries: 0, over: false, close: null, timer: null };

  function finish(tell) {
    if (state.over) return;
    stop();
    tell();
  }

  function take({ id, event, data }) {
    if (id !== null) state.last = id;
    if (event === "delta") {
      state.text += data.text;
      on.text(state.text);
    } else if (event === "response") finish(() => on.ended(data.content));
    else if (event === "error") finish(() => on.failed(refusal(data)));
  }

  function ended(reason) {
    if (state.over) return;
    if (!isLoggedOn(user)) finish(() => on.failed(new ApiError(SESSION_ENDED, { code: 2001, http: 401 })));
    else if (reason instanceof ApiError && !(reason.http >= 500 && state.run === null && reason.code === 0)) {
      finish(() => on.failed(reason));
    } else if (state.run !== null) resume();
    else again();
  }

  /** Send the chat; a repeat with the same key joins it, or gets its answer. */
  function send() {
    if (!isLoggedOn(user)) return ended();
    state.text = "";
    state.last = null;
    state.close = openEvents({
      method: "POST",
      path: session().bus,
      body: { service: "AP_Chat", ...body },
      headers: { "Idempotency-Key": key },
      resume: false,
      onOpen(response) {
        state.tries = 0;
        state.run = response.headers.get("X-Run-Id");
        on.begun(state.run);
      },
      onEvent: take,
      onState: (now, reason) => now === "ended" && ended(reason),
    });
  }

  function again() {
    on.unreached?.();
    connection.lost("requests"); // until any request is answered: a chat that waits for its turn is silent
    state.timer = setTimeout(send, WAITS_MS[Math.min(state.tries++, WAITS_MS.length - 1)]);
  }

  /** Go on with the events of the run after the last one that arrived. */
  function resume() {
    state.close = openEvents({
      path: `/api/runs/${state.run}/events`,
      lastEventId: state.last,
      onEvent: take,
      onState: (now, reason) => now === "ended" && ended(reason ?? new ApiError("The run has ended.")),
    });
  }

  function stop() {
    state.over = true;
    clearTimeout(state.timer);
    state.close?.();
  }

  if (run === null) send();
  else resume();
  return stop;
}

const refusal = ({ note, internal_code: code, http_code: http }) => new ApiError(note, { code, http });
