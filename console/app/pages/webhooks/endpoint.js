import { Badge, Button, Choice, Dialog, Empty, ErrorNotice, Facts, Field, Form, Loaded, Menu, MenuItem, Notice, Page, Secret, Section,
         toast } from "../../components/index.js";
import { plural, Time } from "../../lib/format.js";
import { useAction } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { navigate, to } from "../../lib/router.js";
import { changeEndpoint, deleteEndpoint, recover } from "./api.js";
import { Deliveries } from "./deliveries.js";
import { EditEndpoint } from "./edit.js";
import { SendTest } from "./test.js";

const BACK = { href: to("webhooks"), label: "Webhooks" };
const DAY_MS = 86_400_000;
const RECOVERABLE_DAYS = 14;

/** Whether events go to an endpoint, as a badge. */
export function EndpointState({ of: { active, disabled_reason: reason } }) {
  if (active) return html`<${Badge} kind="good">active<//>`;
  return reason ? html`<${Badge} kind="bad">disabled<//>` : html`<${Badge} kind="warning">paused<//>`;
}

/** One endpoint: its record, acts, and its deliveries. */
export function Endpoint({ id, endpoints, catalog, query }) {
  const [fresh, setFresh] = useState(0);
  const endpoint = endpoints.data?.find((one) => one.id === id);
  const changed = () => {
    endpoints.reload();
    setFresh((count) => count + 1);
  };
  return html`<${Page} title=${endpoint?.url ?? "Endpoint"} back=${BACK} wide
    actions=${endpoint && html`<${Actions} ...${{ endpoint, catalog, changed }} />`}>
    <${Loaded} from=${endpoints}>${() => (endpoint
      ? html`
        ${endpoint.disabled_reason && html`<${Notice} kind="error" title="The gateway disabled this endpoint.">
          ${endpoint.disabled_reason} Resume it when your server works again; then recover what failed.<//>`}
        <${Section} title="Details"><${Details} endpoint=${endpoint} /><//>
        <${Section} title="Deliveries"><${Deliveries} ...${{ endpoints: [endpoint], endpoint, catalog, query, fresh }} /><//>`
      : html`<${Empty} title="There is no such endpoint" icon="webhooks">It may have been deleted for good.<//>`)}
    <//>
  <//>`;
}

function Details({ endpoint }) {
  return html`<${Facts} of=${{
    State: html`<${EndpointState} of=${endpoint} />`,
    Events: endpoint.events.length === 0 ? "all" : endpoint.events.join(", "),
    Description: endpoint.description,
    Created: html`<${Time} at=${endpoint.created_at} dated />`,
    Changed: html`<${Time} at=${endpoint.updated_at} dated />`,
    Id: html`<code>${endpoint.id}</code>`,
  }} />`;
}

function Actions({ endpoint, catalog, changed }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const toggle = useAction(async () => {
    await changeEndpoint(endpoint.id, { active: !endpoint.active });
    toast(endpoint.active ? "Paused. What was waiting is cancelled, and can be recovered." : "Resumed. Recover what failed meanwhile, if you want it.");
    changed();
  });
  return html`
    <${Button} icon="send" onClick=${() => setOpen("test")}>Send a test event<//>
    <${Button} icon=${endpoint.active ? "stop" : "play"} busy=${toggle.busy} onClick=${toggle.run}>${endpoint.active ? "Pause" : "Resume"}<//>
    <${Button} onClick=${() => setOpen("edit")}>Change<//>
    <${Menu} label="More" button="More" class="button">
      <${MenuItem} onSelect=${() => setOpen("recover")}>Recover what failed<//>
      <${MenuItem} onSelect=${() => setOpen("rotate")}>Rotate the secret<//>
      <${MenuItem} onSelect=${() => setOpen("delete")}>Delete<//>
    <//>
    <${ErrorNotice} error=${toggle.error} />
    ${open === "edit" && html`<${EditEndpoint} ...${{ endpoint, catalog, onClose: close, onSaved: changed }} />`}
    ${open === "test" && html`<${SendTest} catalog=${catalog} onClose=${close} onSent=${changed} />`}
    ${open === "recover" && html`<${Recover} endpoint=${endpoint} onClose=${close} onDone=${changed} />`}
    ${open === "rotate" && html`<${Rotate} endpoint=${endpoint} onClose=${close} onDone=${changed} />`}
    ${open === "delete" && html`<${Delete} endpoint=${endpoint} onClose=${close} onDone=${changed} />`}`;
}

function Rotate({ endpoint, onClose, onDone }) {
  const [secret, setSecret] = useState(null);
  const rotate = async ({ old }) => {
    setSecret((await changeEndpoint(endpoint.id, { rotate_secret: old === "now" ? "now" : true })).secret);
    toast("The endpoint has a new secret.");
    onDone();
  };
  const options = [["day", "Ends in 24 hours", "Until then it signs beside the new one."], ["now", "Ends at once", "For one that has leaked."]];
  return html`<${Dialog} title="Rotate the secret" onClose=${onClose} keep=${secret !== null}>
    ${secret
      ? html`<${Secret} label="The new secret" value=${secret}>Your server verifies deliveries with it. It is shown only this once.<//>
          <div class="form-actions"><${Button} kind="primary" onClick=${onClose}>Done<//></div>`
      : html`<${Form} onSubmit=${rotate} submit="Rotate" label="Rotation" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
          <${Choice} label="The old secret" name="old" options=${options} />
        <//>`}
  <//>`;
}

function Recover({ endpoint, onClose, onDone }) {
  const submit = async ({ since }) => {
    const { deliveries } = await recover(endpoint.id, new Date(since).toISOString());
    toast(deliveries === 0 ? "Nothing has failed since then." : `${plural(deliveries, "delivery", "deliveries")} queued again.`);
    onClose();
    onDone();
  };
  return html`<${Dialog} title="Recover what failed" onClose=${onClose}>
    <p>All events whose delivery to this endpoint failed or was cancelled since then are delivered again.</p>
    <${Form} onSubmit=${submit} submit="Recover" label="Recovery" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Field} label="Failed since" name="since" type="datetime-local" required step="1" defaultValue=${local(Date.now() - DAY_MS)}
        min=${local(Date.now() - RECOVERABLE_DAYS * DAY_MS)} hint=${`In your time zone; up to ${RECOVERABLE_DAYS} days ago.`} />
    <//>
  <//>`;
}

function local(ms) {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function Delete({ endpoint, onClose, onDone }) {
  const submit = async ({ how }) => {
    const hard = how === "hard";
    await deleteEndpoint(endpoint.id, hard);
    toast(hard ? "The endpoint was deleted for good." : "The endpoint is disabled.");
    onClose();
    onDone();
    if (hard) navigate(to("webhooks"));
  };
  const options = [["soft", "Disable it", "It may be resumed later."], ["hard", "Delete it for good", "Its URL and secret go with it."]];
  return html`<${Dialog} title="Delete the endpoint" onClose=${onClose}>
    <p>No more events go to it, and what waits is cancelled. The log of its deliveries stays. Deleting for good can't be undone.</p>
    <${Form} onSubmit=${submit} submit="Delete" submitKind="danger" label="Deletion" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Choice} label="How" name="how" options=${options} />
    <//>
  <//>`;
}
