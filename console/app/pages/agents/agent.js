import { Button, Confirm, ConfirmByName, ErrorNotice, Facts, Icon, LinkButton, Loaded, Page, Section, SEEN_BY, Table,
         toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { number, Time } from "../../lib/format.js";
import { useAction, useLoad } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { Link, navigate, to } from "../../lib/router.js";
import { session } from "../../lib/session.js";
import { EditAgent } from "./edit.js";
import { State } from "./state.js";

const BACK = { href: to("agents"), label: "Agents" };

/** One agent: its record, what it is offered, where it is a member, which banks it recalls from. */
export function Agent({ name }) {
  const read = useLoad(() => command("AP_Read", { target: { agent: name } }), [name]);
  const agent = read.data?.profile[0];
  const saved = (record) => {
    read.setData({ ...read.data, profile: [record] });
    if (record.name !== name) navigate(to("agents", record.name), { replace: true });
  };
  return html`<${Page} title=${agent?.name ?? name} back=${BACK}
    actions=${agent && html`<${Actions} agent=${agent} onChanged=${saved} reload=${read.reload} />`}>
    <${Loaded} from=${read} back=${BACK}>${({ profile: [record], content: [links] }) => html`
      <${Offers} agent=${record} offers=${links.offers} reload=${read.reload} />
      <${Section} title="Details"><${Details} agent=${record} messages=${links.messages} /><//>
      <div class="halves">
        <${Names} title="Domains" names=${links.domains} page="domains" nothing="A member of no domain that you see." />
        <${Names} title="Banks" names=${links.banks} page="banks" nothing="Attached to no bank that you see." />
      </div>`}
    <//>
  <//>`;
}

function Actions({ agent, onChanged, reload }) {
  const [open, setOpen] = useState(null);
  const own = agent.owner === session().user;
  const online = agent.state === "online";
  const close = () => setOpen(null);
  const toggle = useAction(async () => {
    const answer = await command(online ? "AP_LogOff" : "AP_LogOn", { target: { agent: agent.name } });
    onChanged(answer.profile[0]);
    toast(`${agent.name} is now ${answer.profile[0].state}.`);
  });
  const destroy = async () => {
    await command("AP_Destroy", { target: { agent: agent.name } });
    toast(`${agent.name} was destroyed.`);
    navigate(to("agents"));
  };
  return html`
    ${online && html`<${LinkButton} kind="primary" icon="chat" href=${to("chat", agent.name)}>Chat<//>`}
    ${own && html`
      <${Button} kind=${online ? "plain" : "primary"} busy=${toggle.busy} onClick=${toggle.run}>${online ? "Log off" : "Log on"}<//>
      <${Button} onClick=${() => setOpen("edit")}>Change<//>
      <${Button} kind="danger" icon="trash" onClick=${() => setOpen("destroy")}>Destroy<//>`}
    ${!own && html`<${Roster} agent=${agent} />`}
    <${ErrorNotice} error=${toggle.error} />
    ${open === "edit" && html`<${EditAgent} agent=${agent} onClose=${close} onSaved=${onChanged} />`}
    ${open === "destroy" && html`<${ConfirmByName} title=${`Destroy ${agent.name}?`} name=${agent.name} confirm="Destroy agent"
      onConfirm=${destroy} onClose=${close}>
      It leaves its domains and banks, and the domains that it founded are destroyed. What it said stays. This can't be undone.
    <//>`}`;
}

/** Puts another user's agent on the roster, or takes it off. */
function Roster({ agent }) {
  const listed = useLoad(async () => {
    const answer = await command("AP_List", { target: { agent: agent.name }, page: { limit: 1 } });
    return answer.profile.some(({ id }) => id === agent.id);
  }, [agent.id]);
  const change = useAction(async () => {
    await command(listed.data ? "AP_Remove" : "AP_Add", { target: { agent: agent.name } });
    toast(listed.data ? `${agent.name} is off your roster.` : `${agent.name} is on your roster.`);
    listed.setData(!listed.data);
  });
  return html`
    ${listed.data !== null && html`<${Button} busy=${change.busy} onClick=${change.run}>
      ${listed.data ? "Take off the roster" : "Add to the roster"}<//>`}
    <${ErrorNotice} error=${change.error ?? listed.error} />`;
}

function Details({ agent, messages }) {
  return html`<${Facts} of=${{
    State: html`<${State} of=${agent.state} />`,
    Owner: agent.owner === session().user ? "you" : agent.owner,
    "Who sees it": SEEN_BY.agents[agent.access],
    Description: agent.description,
    Profile: agent.profile && html`<div class="prose">${agent.profile}</div>`,
    "Your messages": html`<span class="number">${number(messages)}</span> in your conversations with it`,
    Created: html`<${Time} at=${agent.created_at} dated />`,
    Changed: html`<${Time} at=${agent.updated_at} dated />`,
    Id: html`<code>${agent.id}</code>`,
  }} />`;
}

function Names({ title, names, page, nothing }) {
  return html`<${Section} title=${title}>
    ${names.length === 0 && html`<p class="quiet">${nothing}</p>`}
    <ul class="links">${names.map((name) => html`<li key=${name}>
      <${Link} href=${to(page, name)}><${Icon} name=${page} />${name}<//>
    </li>`)}</ul>
  <//>`;
}

/** Banks of others that the agent is offered; an offer has no effect until it is accepted. */
function Offers({ agent, offers, reload }) {
  const [declined, setDeclined] = useState(null);
  const accept = useAction(async (bank) => {
    await command("MB_Accept", { target: { bank, agent: agent.name } });
    toast(`${agent.name} now recalls from ${bank}.`);
    await reload();
  });
  const decline = async () => {
    await command("MB_Unload", { target: { bank: declined, agent: agent.name } });
    toast(`The offer of ${declined} was declined.`);
    await reload();
  };
  if (offers.length === 0) return null;
  const columns = [
    { title: "Bank", name: true, cell: ({ bank }) => bank },
    { title: "From", name: true, cell: ({ owner }) => owner },
    { title: "Permission", cell: ({ permission }) => permission },
    { title: "Since", hideOnPhone: true, cell: ({ since }) => html`<${Time} at=${since} relative />` },
    {
      title: "Answer", align: "end", action: true,
      cell: ({ bank }) => html`<div class="row-actions">
        <${Button} size="small" kind="primary" busy=${accept.busy} onClick=${() => accept.run(bank)} aria-label=${`Accept ${bank}`}>Accept<//>
        <${Button} size="small" onClick=${() => setDeclined(bank)} aria-label=${`Decline ${bank}`}>Decline<//>
      </div>`,
    },
  ];
  return html`<${Section} title="Offers" intro=${`Banks that others offer ${agent.name}. Accept only those that you trust: it quotes from them.`}>
    <${ErrorNotice} error=${accept.error} />
    <${Table} label="Offers" columns=${columns} rows=${offers} id=${({ bank }) => bank} />
    ${declined && html`<${Confirm} title=${`Decline ${declined}?`} confirm="Decline" onConfirm=${decline} onClose=${() => setDeclined(null)}>
      The offer goes away. Its maker may offer the bank again.
    <//>`}
  <//>`;
}
