import { Access, Button, changedOf, ConfirmByName, Dialog, Facts, Form, Loaded, Page, SEEN_BY, Tabs, toast } from "../../components/index.js";
import { command, ApiError } from "../../lib/api.js";
import { Time } from "../../lib/format.js";
import { useLoad } from "../../lib/load.js";
import { useOwnAgents } from "../../lib/own-agents.js";
import { html, useState } from "../../lib/preact.js";
import { Link, navigate, to } from "../../lib/router.js";
import { session } from "../../lib/session.js";
import { DomainFields } from "../domains.js";
import { Members } from "./members.js";
import { standing } from "./moves.js";
import { Zones } from "./zones.js";

const BACK = { href: to("domains"), label: "Domains" };
const NOT_PERMITTED = 2003;

/** One domain: its record, members and zones. */
export function Domain({ name }) {
  const read = useLoad(() => readDomain(name), [name]);
  const own = useOwnAgents();
  const domain = read.data?.domain;
  const owner = domain?.owner === session().user;
  const saved = (record) => {
    read.setData({ ...read.data, domain: record });
    if (record.name !== name) navigate(to("domains", record.name), { replace: true });
  };
  return html`<${Page} title=${domain?.name ?? name} back=${BACK} intro=${domain?.description}
    actions=${owner && html`<${Actions} domain=${domain} onSaved=${saved} />`}>
    <${Loaded} from=${read} back=${BACK}>${({ domain: record, member }) => {
      const who = standing({ domain: record, user: session().user, member });
      return html`
        <p class="summary">
          <${Access} of=${record.access} />
          <span>${who.owner ? "yours" : `of ${record.owner}`}</span>
          <span>founded by <${Link} href=${to("agents", record.founder)}>${record.founder}<//></span>
          <span>changed <${Time} at=${record.updated_at} relative /></span>
        </p>
        <${Tabs} label="Parts of the domain" tabs=${[
          { id: "members", label: "Members", content: () => html`<${Members} ...${{ domain: record, who, own, onMoved: read.reload }} />` },
          { id: "zones", label: "Zones", content: () => html`<${Zones} domain=${record} member=${member} owner=${who.owner} />` },
          { id: "details", label: "Details", content: () => html`<${Details} domain=${record} />` },
        ]} />`;
    }}<//>
  <//>`;
}

/** Read a domain, and whether the user has a member in it: only then a zone may be read. */
async function readDomain(name) {
  const answer = await command("DM_Read", { target: { domain: name }, page: { limit: 1 } });
  const domain = answer.profile[0];
  return { domain, member: domain.owner === session().user || (await isMember(name)) };
}

async function isMember(name) {
  try {
    await command("ZN_Read", { target: { domain: name, zone: "lobby" }, page: { limit: 1 } });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === NOT_PERMITTED) return false;
    throw error;
  }
}

function Details({ domain }) {
  return html`<${Facts} of=${{
    Owner: domain.owner === session().user ? "you" : domain.owner,
    Founder: html`<${Link} href=${to("agents", domain.founder)}>${domain.founder}<//>`,
    "Who sees it": html`<${Access} of=${domain.access} /> ${SEEN_BY.domains[domain.access]}`,
    Description: domain.description,
    Profile: domain.profile && html`<div class="prose">${domain.profile}</div>`,
    Created: html`<${Time} at=${domain.created_at} dated />`,
    Changed: html`<${Time} at=${domain.updated_at} dated />`,
    Id: html`<code>${domain.id}</code>`,
  }} />`;
}

function Actions({ domain, onSaved }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const save = async (values) => {
    const vx = { name: domain.name, description: domain.description, ...changedOf(values, domain) };
    const answer = await command("DM_Update", { target: { domain: domain.name }, vx });
    toast("Saved.");
    close();
    onSaved(answer.profile[0]);
  };
  const destroy = async () => {
    await command("DM_Destroy", { target: { domain: domain.name } });
    toast(`${domain.name} was destroyed.`);
    navigate(to("domains"));
  };
  return html`
    <${Button} onClick=${() => setOpen("edit")}>Change<//>
    <${Button} kind="danger" icon="trash" onClick=${() => setOpen("destroy")}>Destroy<//>
    ${open === "edit" && html`<${Dialog} title=${`Change ${domain.name}`} onClose=${close}>
      <${Form} onSubmit=${save} submit="Save" label="Change the domain" actions=${html`<${Button} onClick=${close}>Cancel<//>`}>
        <${DomainFields} domain=${domain} />
      <//>
    <//>`}
    ${open === "destroy" && html`<${ConfirmByName} title=${`Destroy ${domain.name}?`} name=${domain.name} confirm="Destroy domain"
      onConfirm=${destroy} onClose=${close}>
      Its zones and all their messages are removed, for everybody. This can't be undone.
    <//>`}`;
}
