import { Empty, Page, SelectFilter, Table, TextFilter } from "../components/index.js";
import { route } from "../lib/api.js";
import { number, Time } from "../lib/format.js";
import { html } from "../lib/preact.js";
import { to } from "../lib/router.js";
import { ROLES, RoleBadge, StateBadge } from "./users/badges.js";
import { User } from "./users/user.js";

const COLUMNS = [
  { title: "Name", cell: (user) => user.name, wide: true },
  { title: "State", cell: (user) => html`<${StateBadge} state=${user.state} />` },
  { title: "Role", cell: (user) => html`<${RoleBadge} role=${user.role} />` },
  { title: "Plan", cell: (user) => user.plan, hideOnPhone: true },
  { title: "Requests today", align: "end", cell: (user) => used(user.quota), hideOnPhone: true },
  { title: "Agents", align: "end", cell: (user) => number(user.counts.agents), hideOnPhone: true },
  { title: "Domains", align: "end", cell: (user) => number(user.counts.domains), hideOnPhone: true },
  { title: "Banks", align: "end", cell: (user) => number(user.counts.banks), hideOnPhone: true },
  { title: "Last use", cell: (user) => html`<${Time} at=${user.last_used_at} relative />` },
];

/** All users for auditors and operators, or one of them. */
export default function Users({ params, query }) {
  if (params.name) return html`<${User} key=${params.name} name=${params.name} />`;
  const { prefix, role, state } = query;
  const load = async (cursor) => {
    const page = await route("GET", "/api/admin/users", { query: { prefix, role, state, cursor } });
    return { rows: page.users, next: page.next };
  };
  return html`<${Page} title="Users" intro="Everybody who is registered at this gateway, by name.">
    <div class="filters" role="search" aria-label="Users">
      <${TextFilter} label="Name begins with" name="prefix" type="search" maxlength="64" />
      <${SelectFilter} label="Role" name="role" options=${[["", "Any role"], ...ROLES]} />
      <${SelectFilter} label="State" name="state" options=${[["", "Any state"], "active", "suspended"]} />
    </div>
    <${Table} label="Users" columns=${COLUMNS} load=${load} keys=${[prefix, role, state]}
      href=${(user) => to("users", user.name)}
      empty=${html`<${Empty} title="No user fits" icon="users">Change the filters above.<//>`} />
  <//>`;
}

const used = ({ limit, used: count }) => (limit ? `${number(count)} of ${number(limit)}` : number(count));
