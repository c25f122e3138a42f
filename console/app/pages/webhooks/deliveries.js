import { Badge, Button, Empty, ErrorNotice, Facts, Icon, Loading, More, SelectFilter, Table, toast, usePages } from "../../components/index.js";
import { duration, plural, Time } from "../../lib/format.js";
import { useAction } from "../../lib/load.js";
import { html, useEffect, useRef } from "../../lib/preact.js";
import { Link, setQuery, to } from "../../lib/router.js";
import { listDeliveries, retryDelivery } from "./api.js";

const STATES = { pending: "accent", retrying: "warning", succeeded: "good", exhausted: "bad", cancelled: "neutral" };
const PAGE = 50;
const SOON_MS = 700;
const LONGEST_MS = 30_000;
const LATER_MS = [1000, 4000];
const HORIZON_MS = 15 * 60_000;
const MOST_TRIES = 12; // about four minutes; each look counts against the quota

const ERRORS = {
  http_status: "The answer was not 2xx.",
  redirect: "The answer was a redirect; these are not followed.",
  timeout: "No answer in time.",
  connection_refused: "The server refused the connection.",
  connection_reset: "The server cut the connection.",
  connection_failed: "There was no connection.",
  tls_error: "The certificate is not valid for the name or not trusted, or TLS failed.",
  dns_failure: "The name has no address of the public Internet.",
  address_refused: "The URL has an address that is not of the public Internet.",
  invalid_response: "The answer was not HTTP.",
};

/** Deliveries, the newest first, of all endpoints or one, with filters in the link. Each opens to its attempts. */
export function Deliveries({ endpoints, endpoint = null, catalog, query, fresh }) {
  const { state = "", type = "", endpoint: of = "", delivery = "" } = query;
  const id = endpoint?.id ?? of;
  const load = async (cursor) => {
    const page = await listDeliveries({ endpoint_id: id, event_type: type, state, limit: PAGE, cursor });
    return { rows: page.deliveries, next: page.next };
  };
  const pages = usePages(load, [id, type, state], fresh);
  useProgress(pages);
  useLaterLooks(pages, fresh);
  const retried = (made) => {
    setQuery({ delivery: made.id });
    pages.refresh();
  };
  const urls = new Map(endpoints.map((one) => [one.id, one.url]));
  return html`
    <div class="filters" role="search" aria-label="Filters">
      <${SelectFilter} label="State" name="state" options=${[["", "Any state"], ...Object.keys(STATES)]} />
      <${SelectFilter} label="Type of event" name="type" options=${[["", "Any type"], ...catalog.map((kind) => kind.type)]} />
      ${!endpoint && html`<${SelectFilter} label="Endpoint" name="endpoint" options=${[["", "Any endpoint"], ...urls]} />`}
      <${Button} icon="refresh" busy=${pages.loading} onClick=${pages.refresh}>Refresh<//>
    </div>
    ${pages.rows.length === 0 && html`<${Nothing} pages=${pages} filtered=${Boolean(state || type || of)} />`}
    ${pages.rows.length > 0 && html`<ul class="deliveries" aria-label="Deliveries">${pages.rows.map((row) => html`<${Delivery}
      key=${row.id} row=${row} open=${row.id === delivery} url=${endpoint ? null : (urls.get(row.endpoint_id) ?? row.endpoint_id)}
      retried=${retried} />`)}</ul>
    <${More} pages=${pages} />`}`;
}

function Nothing({ pages, filtered }) {
  if (pages.error) return html`<${ErrorNotice} error=${pages.error} retry=${pages.reload} />`;
  if (!pages.done) return html`<${Loading} />`;
  if (filtered) return html`<${Empty} title="No delivery fits" icon="search">Change the filters above.<//>`;
  return html`<${Empty} title="No deliveries yet" icon="send">Send a test event to see one.<//>`;
}

/** Look again when the next attempt of a shown delivery is due; while the first is under way, in growing steps. */
function useProgress(pages) {
  const tries = useRef(0);
  const now = Date.now();
  const waits = pages.rows.map((row) => (row.state === "pending" ? 0 : row.state === "retrying" ? Date.parse(row.next_attempt_at) - now : Infinity));
  const soonest = Math.min(...waits, Infinity);
  useEffect(() => {
    if (soonest > HORIZON_MS) {
      tries.current = 0;
      return undefined;
    }
    if (tries.current >= MOST_TRIES) return undefined;
    const step = Math.min(SOON_MS * 2 ** tries.current, LONGEST_MS);
    tries.current = soonest <= 0 ? tries.current + 1 : 0;
    const timer = setTimeout(() => !document.hidden && pages.refresh(), Math.max(soonest, 0) + step);
    return () => clearTimeout(timer);
  }, [pages.rows]);
}

/** Look again a little after each act (`fresh`), because the gateway queues what is recovered after its answer. */
function useLaterLooks(pages, fresh) {
  const seen = useRef(fresh);
  useEffect(() => {
    if (seen.current === fresh) return undefined;
    seen.current = fresh;
    const timers = LATER_MS.map((ms) => setTimeout(pages.refresh, ms));
    return () => timers.forEach(clearTimeout);
  }, [fresh]);
}

function Delivery({ row, open, url, retried }) {
  const last = row.attempts.at(-1);
  const panel = `attempts-${row.id}`;
  return html`<li class=${open ? "delivery open" : "delivery"}>
    <button type="button" class="delivery-head" aria-expanded=${open ? "true" : "false"} aria-controls=${panel}
      onClick=${() => setQuery({ delivery: open ? null : row.id })}>
      <${Icon} name=${open ? "down" : "right"} />
      <${Badge} kind=${STATES[row.state]}>${row.state}<//>
      <span class="delivery-type">${row.event_type}</span>
      ${url && html`<span class="quiet delivery-url line">${url}</span>`}
      <span class="fine delivery-last">
        <span>${last ? html`${outcome(last)}, ${plural(row.attempts.length, "attempt")}` : "no attempt yet"}</span>${" "}
        <span class="nowrap"><${Time} at=${row.created_at} relative /></span>
      </span>
    </button>
    <div id=${panel} class="delivery-panel" hidden=${!open}>${open && html`<${Attempts} row=${row} retried=${retried} />`}</div>
  </li>`;
}

const outcome = ({ status, error, latency_ms: ms }) => `${status ?? error} in ${duration(ms)}`;

function Attempts({ row, retried }) {
  const retry = useAction(async () => {
    const made = await retryDelivery(row.id);
    toast("The event is delivered again.");
    retried(made);
  });
  return html`
    <${Facts} of=${{
      Created: html`<${Time} at=${row.created_at} dated />`,
      "Next attempt": row.next_attempt_at && html`<${Time} at=${row.next_attempt_at} dated />`,
      Endpoint: html`<${Link} href=${to("webhooks", row.endpoint_id)}><code>${row.endpoint_id}</code><//>`,
      Event: html`<code>${row.event_id}</code>`,
      Delivery: html`<code>${row.id}</code>`,
    }} />
    <${Table} label="Attempts" columns=${COLUMNS} rows=${row.attempts} id=${({ at }) => at} empty="No attempt was made yet." />
    <${ErrorNotice} error=${retry.error} />
    <div><${Button} icon="refresh" busy=${retry.busy} onClick=${retry.run}>${row.state === "succeeded" ? "Deliver again" : "Retry now"}<//></div>`;
}

const COLUMNS = [
  { title: "At", cell: ({ at }) => html`<span class="nowrap"><${Time} at=${at} /></span>` },
  { title: "Status", cell: ({ status }) => (status === null ? "none" : html`<${Badge} kind=${status < 300 ? "good" : "bad"}>${status}<//>`) },
  { title: "Latency", align: "end", cell: ({ latency_ms: ms }) => html`<span class="nowrap">${duration(ms)}</span>` },
  { title: "Error", cell: ({ error }) => error && html`<span class="attempt-error"><code>${error}</code> ${ERRORS[error]}</span>` },
  { title: "Response", cell: ({ response }) => (response ? html`<pre class="response">${response}</pre>` : html`<span class="quiet">empty</span>`) },
];
