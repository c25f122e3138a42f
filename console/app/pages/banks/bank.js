import { Access, Badge, Button, changedOf, ConfirmByName, Dialog, Empty, ErrorNotice, Facts, Form, Loaded, Menu, MenuItem, Page, SEEN_BY, Tabs, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { number, plural, Time } from "../../lib/format.js";
import { NOT_THERE } from "../../lib/http.js";
import { useCoalesced, useLoad } from "../../lib/load.js";
import { useOwnAgents } from "../../lib/own-agents.js";
import { html, useState } from "../../lib/preact.js";
import { navigate, to } from "../../lib/router.js";
import { session } from "../../lib/session.js";
import { useWatch } from "../../lib/watch.js";
import { BankFields } from "../banks.js";
import { LoadMemory } from "./load.js";
import { Memories } from "./memories.js";
import { Permissions } from "./permissions.js";
import { Removal } from "./removal.js";
import { includes, readBank } from "./rights.js";

const NOT_PERMITTED = 2003;
const BACK = { href: to("banks"), label: "Banks" };

/** One bank: its memories, and who may do what in it. It follows what others change, also from other windows. */
export function Bank({ name, query }) {
  const own = useOwnAgents();
  const [fresh, setFresh] = useState(0);
  const read = useLoad(async () => (own.data ? readBank(name, own.data) : null), [name, own.data]);
  const changed = useCoalesced(() => {
    setFresh((count) => count + 1);
    if (own.data) read.reload();
  });
  useWatch({ banks: [name] }, changed);
  const view = read.data;
  const shown = own.error ? own : read;
  const closed = [NOT_PERMITTED, NOT_THERE].includes(read.error?.code); // then nothing of before is shown, either
  return html`<${Page} title=${view?.bank.name ?? name} back=${BACK} intro=${view?.bank.description}
    actions=${view && !closed && html`<${Actions} view=${view} changed=${changed} />`}>
    ${closed && html`<${Closed} error=${read.error} reload=${read.reload} />`}
    ${!closed && html`<${Loaded} from=${shown}>${() => html`
      <p class="summary">
        <${Access} of=${view.bank.access} />
        <span>${view.owner ? "yours" : `of ${view.bank.owner}; your permission: ${view.permission}`}</span>
        <span>${plural(view.bank.memories, "memory", "memories")}</span>
        <span>changed <${Time} at=${view.bank.updated_at} relative /></span>
      </p>
      <${Tabs} label="Parts of the bank" tabs=${[
        { id: "memories", label: "Memories", content: () => html`<${Memories} ...${{ view, query, fresh, changed }} />` },
        { id: "permissions", label: "Permissions", content: () => html`<${Permissions} ...${{ view, fresh, changed }} />` },
        { id: "details", label: "Details", content: () => html`<${Details} view=${view} />` },
      ]} />`}
    <//>`}
  <//>`;
}

function Closed({ error, reload }) {
  if (error.code === NOT_THERE) return html`<${ErrorNotice} error=${error} back=${BACK} />`;
  return html`<${Empty} title="You may see this bank, but not read it" icon="banks"
    actions=${html`<${Button} icon="refresh" onClick=${() => reload()}>Try again<//>`}>${error.note}<//>`;
}

function Details({ view: { bank, owner, permission } }) {
  return html`<${Facts} of=${{
    Description: bank.description,
    Owner: owner ? "you" : bank.owner,
    "Your permission": owner ? null : html`<${Badge} kind="accent">${permission}<//>`,
    "Who sees it": html`<${Access} of=${bank.access} /> ${SEEN_BY.banks[bank.access]}`,
    Memories: html`<span class="number">${number(bank.memories)}</span>`,
    Created: html`<${Time} at=${bank.created_at} dated />`,
    Changed: html`<${Time} at=${bank.updated_at} dated />`,
    Id: html`<code>${bank.id}</code>`,
  }} />`;
}

function Actions({ view, changed }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const { bank, owner, permission } = view;
  const admin = includes(permission, "admin");
  const save = async (values) => {
    const vx = { name: bank.name, description: bank.description, ...changedOf(values, bank) };
    const answer = await command("MB_Update", { target: { bank: bank.name }, vx });
    toast("Saved.");
    close();
    if (answer.profile[0].name === bank.name) changed();
    else navigate(to("banks", answer.profile[0].name), { replace: true });
  };
  const destroy = async () => {
    await command("MB_Destroy", { target: { bank: bank.name } });
    toast(`${bank.name} was destroyed.`);
    navigate(to("banks"));
  };
  return html`
    ${includes(permission, "write") && html`<${Button} kind="primary" icon="plus" onClick=${() => setOpen("load")}>Load a memory<//>`}
    ${admin && html`<${Button} onClick=${() => setOpen("edit")}>Change<//>`}
    ${admin && html`<${Menu} label="More" button="More" class="button">
      <${MenuItem} onSelect=${() => setOpen("censor")}>Censor memories<//>
      <${MenuItem} onSelect=${() => setOpen("delete")}>Delete memories<//>
      ${owner && html`<${MenuItem} onSelect=${() => setOpen("destroy")}>Destroy the bank<//>`}
    <//>`}
    ${open === "load" && html`<${LoadMemory} view=${view} onClose=${close} onLoaded=${changed} />`}
    ${(open === "censor" || open === "delete") && html`<${Removal} act=${open} bank=${bank} onClose=${close} onDone=${changed} />`}
    ${open === "edit" && html`<${Dialog} title=${`Change ${bank.name}`} onClose=${close}>
      <${Form} onSubmit=${save} submit="Save" label="Change the bank" actions=${html`<${Button} onClick=${close}>Cancel<//>`}>
        <${BankFields} bank=${bank} />
      <//>
    <//>`}
    ${open === "destroy" && html`<${ConfirmByName} title=${`Destroy ${bank.name}?`} name=${bank.name} confirm="Destroy bank"
      onConfirm=${destroy} onClose=${close}>
      The bank is removed with all its memories. What was said in chats stays: censor first what nobody shall read any more.
      This can't be undone.
    <//>`}`;
}
