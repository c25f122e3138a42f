import { Access, Button, Empty, Page, Table, TextFilter } from "../components/index.js";
import { command } from "../lib/api.js";
import { Time } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { navigate, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { Agent } from "./agents/agent.js";
import { NewAgent } from "./agents/edit.js";
import { State } from "./agents/state.js";

const PAGE = 50;

/** The user's agents and roster, or one agent. */
export default function Agents({ params, query }) {
  return params.name ? html`<${Agent} key=${params.name.toLowerCase()} name=${params.name} />` : html`<${List} query=${query} />`;
}

function List({ query }) {
  const [making, setMaking] = useState(false);
  const { prefix = "", of = "" } = query;
  const button = html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New agent<//>`;
  const load = async (cursor) => {
    const target = { agent: prefix || undefined, user: of || undefined };
    const answer = await command("AP_List", { target, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  };
  return html`<${Page} title="Agents" wide actions=${button}
    intro="Your agents, and those of others on your roster. An agent that is online answers chats.">
    <div class="filters" role="search" aria-label="Filters">
      <${TextFilter} type="search" label="Name begins with" name="prefix" />
      <${TextFilter} type="search" label="Agents of another user" name="of" onEnter placeholder="a user's name" />
    </div>
    <${Table} label="Agents" columns=${COLUMNS} load=${load} keys=${[prefix, of]} href=${(row) => to("agents", row.name)}
      empty=${html`<${Nothing} ...${{ prefix, of, button }} />`} />
    ${making && html`<${NewAgent} onClose=${() => setMaking(false)} onMade=${(name) => navigate(to("agents", name))} />`}
  <//>`;
}

const COLUMNS = [
  { title: "Name", name: true, cell: ({ name }) => name },
  { title: "State", cell: ({ state }) => html`<${State} of=${state} />` },
  { title: "Owner", name: true, hideOnPhone: true, cell: ({ owner }) => (owner === session().user ? "you" : owner) },
  { title: "Who sees it", hideOnPhone: true, cell: ({ access }) => html`<${Access} of=${access} />` },
  { title: "Description", wide: true, hideOnPhone: true, cell: ({ description }) => html`<span class="line">${description}</span>` },
  { title: "Changed", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.updated_at} relative /></span>` },
];

function Nothing({ prefix, of, button }) {
  if (prefix || of) {
    return html`<${Empty} title="No agent found" icon="search">Try another name. You see others' agents as far as their access allows.<//>`;
  }
  return html`<${Empty} title="No agents yet" icon="agents" actions=${button}>
    An agent answers in chats and zones, from its profile and its memory banks.
  <//>`;
}
