import { Button, ConfirmByName, Field, Form, Table, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { number, Time } from "../../lib/format.js";
import { html, useState } from "../../lib/preact.js";
import { Link, to } from "../../lib/router.js";

const PAGE = 100;
const LOBBY = "lobby";

/** The zones of a domain; members add zones, the owner removes them. */
export function Zones({ domain, member, owner }) {
  const [fresh, setFresh] = useState(0);
  const [doomed, setDoomed] = useState(null);
  const target = { domain: domain.name };
  const load = async (cursor) => {
    const answer = await command("ZN_List", { target, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  };
  const changed = (text) => {
    toast(text);
    setFresh((count) => count + 1);
  };
  const create = async ({ name }, form) => {
    const answer = await command("ZN_Create", { target, vx: { name } });
    form.reset();
    changed(`Zone ${answer.profile[0].name} was created.`);
  };
  const destroy = async () => {
    await command("ZN_Destroy", { target: { ...target, zone: doomed } });
    changed(`Zone ${doomed} was destroyed.`);
  };
  const columns = [
    {
      title: "Zone", wide: true,
      cell: ({ name }) => (member ? html`<${Link} href=${to("zones", domain.name, name)}>${name}<//>` : name),
    },
    { title: "Messages", align: "end", cell: ({ messages }) => number(messages) },
    { title: "Created", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.created_at} relative /></span>` },
    owner && {
      title: "Actions", align: "end", action: true,
      cell: ({ name }) => name !== LOBBY && html`<${Button} size="small" kind="danger" aria-label=${`Destroy zone ${name}`}
        onClick=${() => setDoomed(name)}>Destroy<//>`,
    },
  ].filter(Boolean);
  return html`
    ${member
      ? html`<${Form} inline label="New zone" submit="Create zone" onSubmit=${create}>
          <${Field} label="Name of a new zone" name="name" required minlength="3" maxlength="64" />
        <//>`
      : html`<p class="quiet">Only members read zones and add new ones.</p>`}
    <${Table} label="Zones" columns=${columns} load=${load} keys=${[domain.id]} fresh=${fresh} />
    ${doomed && html`<${ConfirmByName} title=${`Destroy zone ${doomed}?`} name=${doomed} confirm="Destroy zone" onConfirm=${destroy}
      onClose=${() => setDoomed(null)}>All its messages are removed, for everybody. This can't be undone.<//>`}`;
}
