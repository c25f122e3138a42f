import { connection } from "./connection.js";
import { ApiError, bodyOf, ENDED, errorOf, send } from "./http.js";
import { createStore } from "./store.js";

const PATH = "/console/session";
const POLL_MS = 5000;
const POLL_WHILE_LOST_MS = 1500;
const TELLS_WHY_MS = 500; // a refused request doesn't tell why the session ended, but the window's watch does
const REASONS = { 2001: "Your session has ended.", 2005: "This user is suspended." };

/** The state of the log-on: {status: "loading" | "out" | "in", record, reason}. A session's record outlives its end. */
const store = createStore({ status: "loading", record: null, reason: null });
let timer = null;
let changes = 0; // an answer from before a log-on or log-off tells nothing of now

/** Return {status, record, reason}; `record` is {user, role, csrf, expires_at, version, bus}, null after a log-off. */
export const useSession = () => store.use();

/** Return the record of the session that is logged on, or was; null without one. */
export const session = () => store.get().record;

/** Return whether nobody is logged on any more: nothing may be sent then, in case another user is in another window. */
export const hasEnded = () => store.get().status === "out";

/** Return whether this user is still logged on; what one has written must not be sent as another. */
export const isLoggedOn = (user) => !hasEnded() && session()?.user === user;

/** Return whether the user may read (auditor) or change (operator) what belongs to the gateway. */
export const hasRole = (role) => {
  const own = session()?.role;
  return role === "user" || own === "operator" || own === role;
};

/** Register a user with US_Create; throws ApiError with the gateway's note. The welcome tells where the bus is. */
export async function register(name, secret) {
  const { links } = await bodyOf(await send("GET", "/", { headers: { Accept: "application/json" } }));
  const response = await send("POST", links.bus, { body: { service: "US_Create", vx: { name, secret } } });
  const body = await bodyOf(response);
  if (!response.ok) throw errorOf(response, body);
}

/** Log on; throws ApiError with the gateway's note. */
export async function logOn(name, password) {
  const response = await send("POST", PATH, { body: { name, password } });
  const body = await bodyOf(response);
  if (!response.ok) throw errorOf(response, body);
  begin(body);
}

/** Log off; the page goes back to the log-on form. */
export async function logOff() {
  const response = await send("DELETE", PATH, { headers: { "X-CSRF-Token": session()?.csrf ?? "" }, again: true });
  const body = await bodyOf(response);
  if (!response.ok && !ENDED.has(body?.status?.internal_code)) throw errorOf(response, body);
  finish(null);
}

/** Show the log-on form: the gateway refused the session of this `csrf` (a code of ENDED), or a stream said why. */
export function onEnded(reason, csrf) {
  if (store.get().status !== "in" || csrf !== session().csrf) return; // another session has begun meanwhile
  if (reason === 2001) {
    const ended = changes; // a session that has begun meanwhile is another one
    setTimeout(() => ended === changes && onEnded("refused", csrf), TELLS_WHY_MS);
    return;
  }
  const told = reason === "suspended" ? REASONS[2005] : (REASONS[reason] ?? REASONS[2001]);
  finish(told, reason === "logged off" ? null : session());
}

/** Ask who is logged on; called at the start, then every few seconds while the page is visible. */
export async function checkSession() {
  clearTimeout(timer);
  const asked = changes;
  try {
    const response = await send("GET", PATH);
    const body = await bodyOf(response);
    if (asked !== changes) return;
    if (response.ok) begin(body);
    else if ([401, 403].includes(response.status)) finishAs(errorOf(response, body));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error; // the connection's banner tells of it
  }
  schedule();
}

function begin(record) {
  const { status, record: before } = store.get();
  const same = (name) => before[name] === record[name];
  if (status === "in" && ["user", "role", "csrf", "version"].every(same)) return;
  changes += 1;
  store.set({ status: "in", record, reason: null });
  schedule();
}

function finishAs(error) {
  const { status } = store.get();
  if (status === "in") onEnded(error.code, session().csrf);
  else if (status === "loading") store.set({ status: "out", record: null, reason: REASONS[error.code] ?? null });
}

function finish(reason, record = null) {
  changes += 1;
  clearTimeout(timer);
  store.set({ status: "out", record, reason });
}

function schedule() {
  clearTimeout(timer);
  if (document.hidden || store.get().status === "out") return;
  timer = setTimeout(checkSession, connection.isLost() ? POLL_WHILE_LOST_MS : POLL_MS);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else checkSession(); // another tab may have logged on or off
});
