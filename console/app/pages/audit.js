import {
  Badge, Button, CopyButton, Dialog, Empty, Facts, Page, SelectFilter, Table, TextFilter, TimeFilter,
} from "../components/index.js";
import { route } from "../lib/api.js";
import { Time } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { Link, to } from "../lib/router.js";
import { hasRole } from "../lib/session.js";

const NEEDS_PLAN = 2004;

/** The audit log: of all users for auditors and operators, else the user's own. */
export default function Audit({ query }) {
  const [turn, setTurn] = useState(0);
  const [refused, setRefused] = useState(null);
  const [shown, setShown] = useState(null);
  const sees = hasRole("auditor");
  const own = !sees || query.of === "own";
  const { since, service } = query;
  const load = async (cursor) => {
    try {
      const page = await route("GET", own ? "/api/audit" : "/api/admin/audit", { query: { since, service, cursor } });
      return { rows: page.entries, next: page.next };
    } catch (error) {
      if (error.code !== NEEDS_PLAN) throw error;
      setRefused(error.note);
      return { rows: [], next: null };
    }
  };
  const columns = [
    { title: "Time", cell: (entry) => html`<${Time} at=${entry.time} />` },
    ...(own ? [] : [{ title: "User", name: true, cell: userOf }]),
    { title: "Act", cell: (entry) => html`<code>${entry.service}</code>` },
    { title: "Target", cell: (entry) => html`<${Target} of=${entry.target} />`, wide: true },
    { title: "Result", cell: resultOf },
    { title: "Address", cell: (entry) => html`<span class="mono">${entry.address}</span>`, hideOnPhone: true },
    { title: "Details", action: true, align: "end", cell: (entry) => html`<${Button} size="small" kind="ghost"
      aria-label=${`Details of ${entry.service}`} onClick=${() => setShown(entry)}>Details<//>` },
  ];
  return html`<${Page} title="Audit log" wide
    intro=${own ? "Every change that you made or tried, newest first." : "Every change at this gateway, and what operators and auditors looked at, newest first."}
    actions=${html`<${Button} icon="refresh" onClick=${() => setTurn(turn + 1)}>Refresh<//>`}>
    <div class="filters" role="search" aria-label="Audit log">
      <${TextFilter} label="Act" name="service" type="search" maxlength="100" placeholder="such as AP_Create" />
      <${TimeFilter} label="Since" name="since" />
      ${sees && html`<${SelectFilter} label="Whose" name="of" options=${[["", "All users"], ["own", "My own"]]} />`}
    </div>
    <${Table} label="Audit log" columns=${columns} load=${load} keys=${[own, since, service, turn]} id=${idOf}
      empty=${html`<${Empty} icon="audit" title=${refused ?? "No entry fits"}>
        ${refused ? null : "Change the filters above, or change something: every change leaves an entry."}
      <//>`} />
    ${shown && html`<${Details} entry=${shown} onClose=${() => setShown(null)} />`}
  <//>`;
}

function Details({ entry, onClose }) {
  const { time, user, address, credential_id: credential, request_id: request } = entry;
  return html`<${Dialog} title=${entry.service} onClose=${onClose}>
    <${Facts} of=${{
      Time: html`<code>${time}</code>`,
      User: user,
      Result: resultOf(entry),
      Target: html`<${Target} of=${entry.target} />`,
      Address: html`<code>${address}</code>`,
      Credential: html`<code>${credential}</code>`,
      Request: html`<code>${request}</code>`,
    }} />
    <div class="form-actions"><${CopyButton} text=${JSON.stringify(entry, null, 2)} label="Copy as JSON" /></div>
  <//>`;
}

const idOf = (entry) => `${entry.request_id} ${entry.service} ${entry.time}`;

function userOf({ user, credential_id: credential }) {
  if (user) return html`<${Link} href=${to("users", user)}>${user}<//>`;
  return html`<span class="quiet">${credential === "internal" ? "the internal secret" : "a user that is gone"}</span>`;
}

function resultOf({ internal_code: code }) {
  return code === 0 ? html`<${Badge} kind="good">done<//>` : html`<${Badge} kind="bad">refused, ${code}<//>`;
}

function Target({ of }) {
  const members = Object.entries(of ?? {});
  if (members.length === 0) return html`<span class="quiet">none</span>`;
  return members.map(([name, value]) => html`<span class="target" key=${name}><span class="quiet">${name}</span> ${String(value)}</span>`);
}
