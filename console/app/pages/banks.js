import { Access, AccessSelect, Button, Dialog, Empty, Field, Form, NameField, Page, Table, TextArea, TextFilter, toast } from "../components/index.js";
import { command } from "../lib/api.js";
import { number, Time } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { navigate, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { Bank } from "./banks/bank.js";

const PAGE = 50;

/** The banks of the user and its agents, or one bank. */
export default function Banks({ params, query }) {
  return params.name
    ? html`<${Bank} key=${params.name.toLowerCase()} name=${params.name} query=${query} />`
    : html`<${List} query=${query} />`;
}

function List({ query }) {
  const [making, setMaking] = useState(false);
  const { prefix = "", of = "" } = query;
  const button = html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New bank<//>`;
  const load = async (cursor) => {
    const target = { bank: prefix || undefined, user: of || undefined };
    const answer = await command("MB_List", { target, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  };
  const empty = prefix || of
    ? html`<${Empty} title="No bank found" icon="search">Try another name. You see others' banks as far as their access allows.<//>`
    : html`<${Empty} title="No banks yet" icon="banks" actions=${button}>
        A bank holds memories: texts that agents recall and quote when they chat.
      <//>`;
  return html`<${Page} title="Banks" wide actions=${button} intro="Your banks, and those that your agents are attached to.">
    <div class="filters" role="search" aria-label="Filters">
      <${TextFilter} type="search" label="Name begins with" name="prefix" />
      <${TextFilter} type="search" label="Banks of another user" name="of" onEnter placeholder="a user's name" />
    </div>
    <${Table} label="Banks" columns=${COLUMNS} load=${load} keys=${[prefix, of]} href=${(row) => to("banks", row.name)} empty=${empty} />
    ${making && html`<${NewBank} onClose=${() => setMaking(false)} />`}
  <//>`;
}

const COLUMNS = [
  { title: "Name", name: true, cell: ({ name }) => name },
  { title: "Memories", align: "end", cell: ({ memories }) => number(memories) },
  { title: "Owner", name: true, cell: ({ owner }) => (owner === session().user ? "you" : owner) },
  { title: "Who sees it", hideOnPhone: true, cell: ({ access }) => html`<${Access} of=${access} />` },
  { title: "Description", wide: true, hideOnPhone: true, cell: ({ description }) => html`<span class="line">${description}</span>` },
  { title: "Changed", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.updated_at} relative /></span>` },
];

function NewBank({ onClose }) {
  const make = async ({ name, description, access, agent }) => {
    const answer = await command("MB_Create", { target: { agent }, vx: { name, description: description || undefined, access } });
    toast(`${answer.profile[0].name} was created.`);
    navigate(to("banks", answer.profile[0].name));
  };
  return html`<${Dialog} title="New bank" onClose=${onClose}>
    <${Form} onSubmit=${make} submit="Create" label="New bank" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${BankFields} />
      <${NameField} of="agents" own only label="First agent" name="agent" required
        hint="An agent of yours. It recalls from the bank, and may change all in it." />
    <//>
  <//>`;
}

/** The fields of a bank's record. */
export function BankFields({ bank }) {
  return html`
    <${Field} label="Name" name="name" required minlength="3" maxlength="64" defaultValue=${bank?.name}
      hint="3 to 64 letters, digits, -, _ or ., beginning and ending with a letter or digit; unique in the gateway." />
    <${TextArea} label="Description" name="description" rows="2" maxlength="8000" required=${Boolean(bank)} defaultValue=${bank?.description} />
    <${AccessSelect} of="banks" value=${bank?.access} />`;
}
