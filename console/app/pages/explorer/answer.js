import { Badge, CopyButton, Empty, Json, Notice, Tabs } from "../../components/index.js";
import { bytes, duration, plural } from "../../lib/format.js";
import { html, useEffect, useRef } from "../../lib/preact.js";

const LONG_EVENT = 400;
const SHOWN_HEADERS = /^(ratelimit|ratelimit-policy|retry-after|x-request-id|x-run-id|idempotency-replayed)$/i;

/** The answer of a command: its state and time, the error in words, the pieces of a stream, body and headers. */
export function Answer({ command, answer, busy }) {
  if (answer === null) {
    return html`<div role="status">${busy
      ? html`<p class="answer-line"><span class="spinner" aria-hidden="true"></span>Waiting for the answer</p>`
      : html`<${Empty} title="No answer yet" icon="send">Fill in the form and send it.<//>`}</div>`;
  }
  if (answer.failure && !answer.http) return html`<${Notice} kind="error">${answer.failure.note ?? answer.failure.message}<//>`;
  const tabs = [
    answer.body !== undefined && { id: "tree", label: "Body", content: () => html`<${Body} body=${answer.body} />` },
    answer.events && { id: "events", label: `Events (${answer.count})`, content: () => html`<${Events} answer=${answer} />` },
    { id: "headers", label: `Headers (${answer.headers.length})`, content: () => html`<${Headers} headers=${answer.headers} />` },
  ];
  return html`
    <${Line} answer=${answer} />
    <${Refusal} command=${command} status=${answer.body?.status} />
    ${answer.failure && html`<${Notice} kind="warning">The stream was cut off: ${answer.failure.message}<//>`}
    ${answer.text && html`<div class="answer-text" role="log" aria-label="Text of the reply" tabindex="0">${answer.text}</div>`}
    <${Tabs} label="Answer" name="answer" tabs=${tabs.filter(Boolean)} />`;
}

function Line({ answer }) {
  const { http, ms, body, state } = answer;
  const status = body?.status;
  const code = status?.http_code ?? http;
  const size = body === undefined ? null : bytes(new TextEncoder().encode(JSON.stringify(body)).length);
  const shown = answer.headers.filter(([name]) => SHOWN_HEADERS.test(name));
  return html`<div class="answer-head" role="status">
    <p class="answer-line">
      <${Badge} kind=${code < 300 ? "good" : "bad"}>${code < 300 ? "Success" : "Refused"} ${code}<//>
      ${http !== code && html`<span class="quiet">HTTP ${http}</span>`}
      <span class="quiet number">${duration(ms)}</span>${size && html`<span class="quiet number">${size}</span>`}
      ${answer.events && html`<span class="quiet number">${plural(answer.count, "event")}</span>`}
      ${state === "open" && html`<${Badge} kind="accent">streaming<//>`}
      ${state === "stopped" && html`<${Badge} kind="warning">stopped by you<//>`}
    </p>
    ${shown.length > 0 && html`<dl class="answer-headers">${shown.map(([name, value]) => html`<div key=${name}><dt>${titled(name)}</dt><dd>${value}</dd></div>`)}</dl>`}
  </div>`;
}

/** An error in the gateway's words, what its code means, and where it is documented. */
function Refusal({ command, status }) {
  if (!status || status.success) return null;
  const meaning = command.errors[status.internal_code];
  return html`<${Notice} kind="error" title=${`Code ${status.internal_code}`}>
    <p>${status.note}</p>
    ${meaning && html`<p>${meaning}</p>`}
    <p><a href=${docsOf(command)} target="_blank" rel="noopener">${command.service} in the API documentation</a></p>
  <//>`;
}

/** Return the address of a command's documentation on this gateway. */
export const docsOf = ({ tag, service }) => `/docs#/${encodeURIComponent(tag)}/${service}`;

function Body({ body }) {
  return html`<div class="answer-body">
    <${Json} value=${body} depth=${4} label="Body of the answer" />
    <div class="actions"><${CopyButton} label="Copy the answer" text=${JSON.stringify(body, null, 2)} /></div>
  </div>`;
}

function Events({ answer }) {
  const frame = useRef(null);
  useEffect(() => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current;
    if (scrollHeight - scrollTop - clientHeight < 120) frame.current.scrollTop = scrollHeight;
  }, [answer.count]);
  return html`<div class="events" ref=${frame} tabindex="0" aria-label="Events of the stream" role="log">
    ${answer.count === 0 && html`<p class="quiet">The stream is open. Nothing has happened yet.</p>`}
    <ol>${answer.events.map((event) => html`<li key=${event.number}><${Event} event=${event} /></li>`)}</ol>
  </div>`;
}

function Event({ event: { at, event, id, data } }) {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return html`
    <span class="fine number">${duration(at)}</span>
    <${Badge}>${event}<//>
    ${id && html`<span class="fine">id ${id}</span>`}
    ${text.length <= LONG_EVENT ? html`<code>${text}</code>` : html`<details><summary>${bytes(text.length)}</summary><code>${text}</code></details>`}`;
}

function Headers({ headers }) {
  return html`<dl class="answer-headers all">
    ${headers.map(([name, value]) => html`<div key=${name}><dt>${titled(name)}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

const WORDS = { ratelimit: "RateLimit", id: "Id" };
const titled = (name) => name.split("-").map((word) => WORDS[word] ?? word[0].toUpperCase() + word.slice(1)).join("-");
