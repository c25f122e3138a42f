import { Badge, Button, Confirm, Empty, ErrorNotice, Loading, Notice, Page, Table, toast } from "../components/index.js";
import { route } from "../lib/api.js";
import { number, Time } from "../lib/format.js";
import { useLoad } from "../lib/load.js";
import { html, useState } from "../lib/preact.js";
import { NewKey } from "./keys/new.js";
import { Scopes } from "./keys/scopes.js";

const NEEDS_PLAN = 2004;
const PATH = "/api/api-keys";

/** The user's API keys: made, shown once, listed with their last use, revoked. */
export default function Keys() {
  const keys = useLoad(async () => (await route("GET", PATH)).api_keys);
  const [making, setMaking] = useState(false);
  const [doomed, setDoomed] = useState(null);
  const free = keys.error?.code === NEEDS_PLAN;
  const button = !free && html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New API key<//>`;
  const revoke = async () => {
    await route("DELETE", `${PATH}/${doomed.id}`);
    toast(`${doomed.name} was revoked.`);
    await keys.reload();
  };
  const columns = [
    { title: "Name", cell: ({ name }) => html`<span class="key-name long">${name}</span>` },
    { title: "Key", cell: ({ prefix }) => html`<code>${prefix}…</code>` },
    { title: "May", wide: true, cell: ({ scopes }) => html`<${Scopes} of=${scopes} />` },
    { title: "A day", align: "end", cell: ({ limit }) => html`<span class="nowrap">${limit === undefined ? "no limit" : number(limit)}</span>` },
    { title: "Last used", cell: (row) => html`<span class="nowrap"><${Time} at=${row.last_used_at} relative /></span>` },
    { title: "Expires", cell: (row) => html`<${Expiry} at=${row.expires_at} />` },
    { title: "Created", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.created_at} relative /></span>` },
    {
      title: "Actions", align: "end", action: true,
      cell: (row) => html`<div class="row-actions"><${Button} size="small" kind="danger" aria-label=${`Revoke: ${row.name}`}
        onClick=${() => setDoomed(row)}>Revoke<//></div>`,
    },
  ];
  return html`<${Page} title="API keys" wide actions=${button}
    intro="A key acts as you, without your password. Give each program its own, limited to what it needs.">
    ${keys.data === null && !keys.error && html`<${Loading} />`}
    ${free && html`<${NeedsPlan} note=${keys.error.note} />`}
    ${!free && html`<${ErrorNotice} error=${keys.error} retry=${keys.reload} />`}
    ${keys.data && html`<${Table} label="API keys" columns=${columns} rows=${keys.data}
      empty=${html`<${Empty} title="No keys yet" icon="keys" actions=${button}>A key is for a program that runs without you.<//>`} />`}
    ${making && html`<${NewKey} onClose=${() => setMaking(false)} onMade=${keys.reload} />`}
    ${doomed && html`<${Confirm} title=${`Revoke ${doomed.name}?`} confirm="Revoke" onConfirm=${revoke} onClose=${() => setDoomed(null)}>
      Every program that uses it is refused from now on, and its streams end. This can't be undone.
    <//>`}
  <//>`;
}

function Expiry({ at }) {
  if (at !== null && Date.parse(at) < Date.now()) return html`<${Badge} kind="bad">expired<//>`;
  return html`<span class="nowrap"><${Time} at=${at} /></span>`;
}

function NeedsPlan({ note }) {
  return html`<${Notice} kind="info" title="Your plan has no API keys">
    <p>${note}</p>
    <p>Ask the operator of this gateway for the plan builder, scale or enterprise. Until then programs may log on with your name and
      password (US_LogOn), and send the token that they get.</p>
  <//>`;
}
