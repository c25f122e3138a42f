import { AccessSelect, Badge, Button, Choice, Confirm, Dialog, Form, NameField, Table, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { Time } from "../../lib/format.js";
import { html, useState } from "../../lib/preact.js";
import { Link, to } from "../../lib/router.js";
import { ALLOWS, includes, PERMISSIONS } from "./rights.js";

const PAGE = 100;

/** The agents of a bank with their permissions, and who sees the bank. */
export function Permissions({ view, fresh, changed }) {
  const [asked, setAsked] = useState(null);
  const { bank, permission, mine } = view;
  const admin = includes(permission, "admin");
  const load = async (cursor) => {
    const answer = await command("MB_AgentList", { target: { bank: bank.name }, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.content, next: answer.header.next };
  };
  const grant = async ({ agent, permission: given }) => {
    const answer = await command("MB_Permissions", { target: { bank: bank.name, agent }, vx: { permission: given } });
    const rows = answer.content.filter((row) => row.agent.toLowerCase() === agent.toLowerCase());
    const offered = rows.some((row) => row.state === "offered" && row.permission === given);
    toast(offered ? `${agent} is offered ${given}. Its owner has to accept.` : `${agent} now has ${given}.`);
    changed();
  };
  const withdraw = async ({ agent, state }) => {
    await command("MB_Unload", { target: { bank: bank.name, agent } });
    toast(state === "offered" ? `The offer to ${agent} was withdrawn.` : `${agent} was detached.`);
    changed();
  };
  const columns = [
    { title: "Agent", wide: true, cell: ({ agent }) => html`<${Link} href=${to("agents", agent)}>${agent}<//>` },
    { title: "Permission", cell: (row) => row.permission },
    { title: "State", cell: ({ state }) => html`<${Badge} kind=${state === "attached" ? "good" : "accent"}>${state}<//>` },
    { title: "Since", hideOnPhone: true, cell: ({ since }) => html`<span class="nowrap"><${Time} at=${since} relative /></span>` },
    {
      title: "Actions", align: "end", action: true,
      cell: (row) => (admin || mine.has(row.agent)) && html`<div class="row-actions">
        <${Button} size="small" aria-label=${`Change: ${row.agent}`} onClick=${() => setAsked({ row, act: "change" })}>Change<//>
        <${Button} size="small" kind="danger" aria-label=${`${row.state === "offered" ? "Withdraw" : "Detach"}: ${row.agent}`} onClick=${() => setAsked({ row, act: "withdraw" })}>
          ${row.state === "offered" ? "Withdraw" : "Detach"}<//>
      </div>`,
    },
  ];
  return html`
    ${admin && html`<${WhoSees} bank=${bank} changed=${changed} />`}
    <${Give} permission=${permission} grant=${grant} />
    <${Table} label="Agents" columns=${columns} load=${load} keys=${[bank.id]} fresh=${fresh} id=${({ agent, state }) => `${agent} ${state}`}
      empty="No agent is attached." />
    ${asked?.act === "change" && html`<${Change} row=${asked.row} permission=${permission} grant=${grant} onClose=${() => setAsked(null)} />`}
    ${asked?.act === "withdraw" && html`<${Confirm} title=${`${asked.row.state === "offered" ? "Withdraw the offer to" : "Detach"} ${asked.row.agent}?`}
      confirm=${asked.row.state === "offered" ? "Withdraw" : "Detach"} onConfirm=${() => withdraw(asked.row)} onClose=${() => setAsked(null)}>
      It recalls nothing from the bank any more. What it loaded stays.
    <//>`}`;
}

function WhoSees({ bank, changed }) {
  const save = async ({ access }) => {
    await command("MB_Permissions", { target: { bank: bank.name }, vx: { access } });
    toast("Saved.");
    changed();
  };
  return html`<${Form} inline key=${bank.access} label="Who sees the bank" submit="Save" submitKind="plain" onSubmit=${save}>
    <${AccessSelect} of="banks" value=${bank.access} />
  <//>`;
}

const choices = (permission, from) =>
  PERMISSIONS.filter((one) => includes(permission, one) && includes(one, from)).map((one) => [one, one, ALLOWS[one]]);

function Give({ permission, grant }) {
  const [name, setName] = useState("");
  const give = async ({ permission: given }) => {
    await grant({ agent: name.trim(), permission: given });
    setName("");
  };
  return html`<${Form} inline label="Give a permission" submit="Give" submitKind="plain" onSubmit=${give}>
    <${NameField} of="agents" label="Agent" name="agent" required value=${name}
      onInput=${(event) => setName(event.target.value)} />
    <${Choice} label="Permission" name="permission" options=${choices(permission, "read")} />
  <//>
  <p class="fine">An agent of yours gets it at once; another user's agent is offered it, and its owner has to accept.</p>`;
}

function Change({ row, permission, grant, onClose }) {
  const save = async ({ permission: given }) => {
    await grant({ agent: row.agent, permission: given });
    onClose();
  };
  return html`<${Dialog} title=${`Permission of ${row.agent}`} onClose=${onClose}>
    <${Form} onSubmit=${save} submit="Save" label="Change the permission" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Choice} label="Permission" name="permission" options=${choices(permission, "none")} value=${row.permission} />
    <//>
  <//>`;
}
