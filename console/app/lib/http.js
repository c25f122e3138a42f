import { connection } from "./connection.js";

/** The codes of docs/errors.md that end a session: no credential, an invalid one, a suspended user. */
export const ENDED = new Set([2000, 2001, 2005]);

/** The code for what does not exist, or is out of sight. */
export const NOT_THERE = 3000;

const WAITS_MS = [300, 1000, 2500];

/** A refusal of the gateway, or no answer at all (code 0). */
export class ApiError extends Error {
  constructor(note, { code = 0, http = 0, requestId = null, retryAfter = null, quota = null, unreached = false } = {}) {
    super(note);
    this.name = "ApiError";
    this.note = note;
    this.code = code;
    this.http = http;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.quota = quota;
    this.unreached = unreached;
  }
}

/** Make the error of an answer that is not a success. */
export function errorOf(response, body) {
  const status = body?.status ?? {};
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ApiError(status.note ?? `The gateway answered ${response.status}.`, {
    code: status.internal_code ?? 0,
    http: status.http_code ?? response.status,
    requestId: response.headers.get("X-Request-Id"),
    retryAfter: Number.isNaN(seconds) ? null : seconds,
    quota: quotaOf(response.headers),
  });
}

/** Read the day's quota from an answer's RateLimit headers, as a user's record has it; null where it has none. */
function quotaOf(headers) {
  const figure = (name, key) => Number(new RegExp(`;${key}=(\\d+)`).exec(headers.get(name))?.[1] ?? NaN);
  const limit = figure("RateLimit-Policy", "q");
  const remaining = figure("RateLimit", "r");
  const resetsAt = Date.now() + figure("RateLimit", "t") * 1000;
  if (Number.isNaN(limit + remaining + resetsAt)) return null;
  return { limit, remaining, used: limit - remaining, resets_at: new Date(resetsAt).toISOString() };
}

/** Read a body as JSON where it is JSON, else as text; null where there is none. */
export async function bodyOf(response) {
  if (response.status === 204) return null;
  const text = await response.text();
  if (!response.headers.get("Content-Type")?.includes("json")) return text;
  return text ? JSON.parse(text) : null;
}

/** Send a request; one that may be sent twice (`again`) is repeated when the connection fails. Returns the Response. */
export async function send(method, path, { body, headers = {}, signal, again = false } = {}) {
  const sent = body === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  const payload = body && JSON.stringify(body);
  for (let tries = 0; ; tries += 1) {
    const response = await answerOf(path, { method, headers: sent, body: payload, signal, credentials: "same-origin" });
    if (response !== null) {
      connection.back("requests");
      return response;
    }
    connection.lost("requests");
    if (!again || tries >= WAITS_MS.length) throw new ApiError("The gateway can't be reached.", { unreached: true });
    await wait(WAITS_MS[tries], signal);
  }
}

/** Send a request once. Returns null without an answer of the gateway: a proxy before it tells the same in HTML. */
async function answerOf(path, request) {
  try {
    const response = await fetch(path, request);
    const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream");
    if (!isStream) await response.clone().arrayBuffer(); // one that is cut off in its body is no answer, either
    const isOfProxy = response.status >= 502 && !response.headers.get("Content-Type")?.includes("json");
    return isOfProxy ? null : response;
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    return null;
  }
}

/** Wait some milliseconds; an abort of the signal ends the wait with an AbortError. */
export function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}
