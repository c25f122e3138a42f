import { connection } from "../lib/connection.js";
import { duration } from "../lib/format.js";
import { NOT_THERE } from "../lib/http.js";
import { html, useEffect } from "../lib/preact.js";
import { Button, CopyButton, LinkButton } from "./button.js";
import { Icon } from "./icons.js";

/** A note in the page: kind is "info", "good", "warning" or "error"; errors are read out at once. */
export function Notice({ kind = "info", title, actions, children }) {
  const icon = kind === "good" ? "check" : kind === "info" ? "info" : "alert";
  return html`<div class=${`notice ${kind}`} role=${kind === "error" ? "alert" : "status"}>
    <${Icon} name=${icon} />
    <div class="notice-text">${title && html`<strong>${title}</strong>`}<div>${children}</div></div>
    ${actions && html`<div class="actions">${actions}</div>`}
  </div>`;
}

/** What went wrong, in the gateway's words, with its code and request id; `retry` adds a button.
 *
 * What is not there doesn't come by another try: then `back`, {href, label}, is a link in the button's place.
 * Where the gateway could not be reached, it is tried again as soon as it can be.
 */
export function ErrorNotice({ error, retry, back }) {
  useEffect(() => (error?.unreached && retry ? connection.whenBack(() => retry()) : undefined), [error]);
  if (!error) return null;
  const about = [error.code ? `code ${error.code}` : null, error.requestId ? `request ${error.requestId}` : null];
  const told = about.filter(Boolean).join(", ");
  const way = back && error.code === NOT_THERE
    ? html`<${LinkButton} size="small" icon="left" href=${back.href}>Back to ${back.label}<//>`
    : retry && html`<${Button} size="small" icon="refresh" onClick=${() => retry()}>Try again<//>`;
  return html`<${Notice} kind="error" actions=${way}>
    ${error.note ?? error.message}
    ${error.retryAfter ? html` Try again in ${duration(error.retryAfter * 1000)}.` : null}
    ${told && html`<div class="fine">${told}</div>`}
  <//>`;
}

/** A short state: kind is "neutral", "good", "warning", "bad" or "accent". */
export function Badge({ kind = "neutral", children }) {
  return html`<span class=${`badge ${kind}`}>${children}</span>`;
}

/** What a list shows when nothing is in it, and what to do about that. */
export function Empty({ title, children, actions, icon }) {
  return html`<div class="empty">
    ${icon && html`<${Icon} name=${icon} />`}
    <p class="empty-title">${title}</p>
    ${children && html`<div class="quiet">${children}</div>`}
    ${actions && html`<div class="actions">${actions}</div>`}
  </div>`;
}

/** Grey lines in the place of what is being loaded. */
export function Loading({ lines = 4, label = "Loading" }) {
  return html`<div class="loading" role="status">
    <span class="offscreen">${label}</span>
    ${Array.from({ length: lines }, (_, line) => html`<div key=${line} class=${`bone bone-${line % 4}`}></div>`)}
  </div>`;
}

/** Show a useLoad: its loading and error states, then children(data). `back` is where one goes if it is not there. */
export function Loaded({ from, lines, back, children }) {
  if (from.error && from.data === null) return html`<${ErrorNotice} error=${from.error} retry=${from.reload} back=${back} />`;
  if (from.data === null) return html`<${Loading} lines=${lines} />`;
  return html`${from.error && html`<${ErrorNotice} error=${from.error} retry=${from.reload} />`}${children(from.data)}`;
}

/** A secret that the gateway shows once, with a button that copies it. */
export function Secret({ label, value, children }) {
  return html`<${Notice} kind="warning" title=${label}>
    <div class="secret"><code>${value}</code><${CopyButton} text=${value} /></div>
    <div>${children ?? "It is shown only this once."}</div>
  <//>`;
}
