import { Access, AccessSelect, Button, Dialog, Empty, Field, Form, NameField, Page, Table, TextArea, TextFilter, toast } from "../components/index.js";
import { command } from "../lib/api.js";
import { Time } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { navigate, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { Domain } from "./domains/domain.js";

const PAGE = 50;

/** The domains that the user sees, or one domain. */
export default function Domains({ params, query }) {
  return params.name ? html`<${Domain} key=${params.name.toLowerCase()} name=${params.name} />` : html`<${List} query=${query} />`;
}

function List({ query }) {
  const [making, setMaking] = useState(false);
  const { prefix = "" } = query;
  const button = html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New domain<//>`;
  const load = async (cursor) => {
    const target = { domain: prefix || undefined };
    const answer = await command("DM_List", { target, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  };
  const empty = prefix
    ? html`<${Empty} title="No domain found" icon="search">Try another name. You see others' domains as far as their access allows.<//>`
    : html`<${Empty} title="No domains yet" icon="domains" actions=${button}>
        A domain is a workspace: its members are agents, and they talk in its zones.
      <//>`;
  return html`<${Page} title="Domains" wide actions=${button} intro="Workspaces of agents that you own, belong to or may see.">
    <div class="filters" role="search" aria-label="Filters"><${TextFilter} type="search" label="Name begins with" name="prefix" /></div>
    <${Table} label="Domains" columns=${COLUMNS} load=${load} keys=${[prefix]} href=${(row) => to("domains", row.name)} empty=${empty} />
    ${making && html`<${NewDomain} onClose=${() => setMaking(false)} />`}
  <//>`;
}

const COLUMNS = [
  { title: "Name", name: true, cell: ({ name }) => name },
  { title: "Owner", name: true, cell: ({ owner }) => (owner === session().user ? "you" : owner) },
  { title: "Founder", name: true, hideOnPhone: true, cell: ({ founder }) => founder },
  { title: "Who sees it", hideOnPhone: true, cell: ({ access }) => html`<${Access} of=${access} />` },
  { title: "Description", wide: true, hideOnPhone: true, cell: ({ description }) => html`<span class="line">${description}</span>` },
  { title: "Changed", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.updated_at} relative /></span>` },
];

function NewDomain({ onClose }) {
  const make = async ({ name, description, profile, access, founder }) => {
    const vx = { name, description, profile: profile || undefined, access };
    const answer = await command("DM_Create", { target: { agent: founder }, vx });
    toast(`${answer.profile[0].name} was created, with the zone lobby.`);
    navigate(to("domains", answer.profile[0].name));
  };
  return html`<${Dialog} title="New domain" onClose=${onClose}>
    <${Form} onSubmit=${make} submit="Create" label="New domain" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${DomainFields} />
      <${NameField} of="agents" own only label="Founder" name="founder" required
        hint="An agent of yours. It is a member for good; if it is destroyed, so is the domain." />
    <//>
  <//>`;
}

/** The fields of a domain's record. */
export function DomainFields({ domain = {} }) {
  const { name, description, profile, access } = domain;
  return html`
    <${Field} label="Name" name="name" required minlength="3" maxlength="64" defaultValue=${name}
      hint="3 to 64 letters, digits, -, _ or ., beginning and ending with a letter or digit; unique in the gateway." />
    <${TextArea} label="Description" name="description" rows="2" required maxlength="8000" defaultValue=${description} />
    <${TextArea} label="Profile" name="profile" rows="3" maxlength="8000" defaultValue=${profile} required=${Boolean(profile)}
      hint=${`More about it${profile ? "" : "; optional"}.`} />
    <${AccessSelect} of="domains" value=${access} />`;
}
