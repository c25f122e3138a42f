import { ApiError, bodyOf, ENDED, errorOf, send } from "./http.js";
import { hasEnded, onEnded, session } from "./session.js";

export { ApiError };

const PAGES = 10;
const LARGEST_PAGE = 200;
const READS = /_(Read|List|AgentList|History|Recall|Search|Sessions)$/;
const SENT_AGAIN_MS = 600_000;

/** The change whose answer was lost last, and no other was answered since: {change, key, at}. */
let lost = null;

/** Send a command to the bus, {target, vx, content, page}; returns the TPSResponse, throws ApiError. */
export async function command(service, members = {}, { idempotencyKey, signal } = {}) {
  const path = session()?.bus ?? "/demo/v1/Svc/tps";
  const body = { service, ...members };
  const act = (key) => answerOf("POST", path, { body, headers: headersFor("POST", key), signal, again: true });
  if (READS.test(service)) return act(null);
  return idempotencyKey ? act(idempotencyKey) : once(JSON.stringify(body), act);
}

/** Read the first 2,000 rows of a list; returns the TPSResponse of each page. */
export async function pagesOf(service, target) {
  const answers = [];
  let cursor;
  do {
    const answer = await command(service, { target, page: { limit: LARGEST_PAGE, cursor } });
    answers.push(answer);
    cursor = answer.header.next ?? undefined;
  } while (cursor !== undefined && answers.length < PAGES);
  return answers;
}

/** Call a route below /api or /debug; returns its decoded body, throws ApiError. Query members of null are left out. */
export async function route(method, path, { query, body, idempotencyKey, signal } = {}) {
  const act = (key) => {
    const again = method === "GET" || key !== null;
    return answerOf(method, withQuery(path, query), { body, headers: headersFor(method, key), signal, again });
  };
  if (method !== "POST" || idempotencyKey) return act(idempotencyKey ?? null);
  return once(JSON.stringify([path, query, body]), act);
}

/** Make a change with act(key); one that is sent again because its answer was lost keeps its key, and is made once. */
async function once(change, act) {
  const isAgain = lost?.change === change && performance.now() - lost.at < SENT_AGAIN_MS;
  const key = isAgain ? lost.key : newKey();
  try {
    const answer = await act(key);
    lost = null;
    return answer;
  } catch (error) {
    lost = error.unreached ? { change, key, at: performance.now() } : null;
    throw error;
  }
}

/** Return the headers of a request of this session: the CSRF token, and an Idempotency-Key where one is given. */
export function headersFor(method, key = null) {
  const headers = {};
  if (method !== "GET" && method !== "HEAD") headers["X-CSRF-Token"] = session()?.csrf ?? "";
  if (key !== null) headers["Idempotency-Key"] = key;
  return headers;
}

/** Make an Idempotency-Key. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is absent on plain http
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Add a query to a path; members of null, undefined and "" are left out. */
export function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

async function answerOf(method, path, request) {
  if (hasEnded()) throw new ApiError("Your session has ended.", { code: 2001, http: 401 });
  const csrf = session()?.csrf;
  const response = await send(method, path, request);
  const body = await bodyOf(response);
  if (response.ok) return body;
  const error = errorOf(response, body);
  if (ENDED.has(error.code)) onEnded(error.code, csrf);
  throw error;
}
