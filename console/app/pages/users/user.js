import { Facts, Loaded, Notice, Page, Section } from "../../components/index.js";
import { route } from "../../lib/api.js";
import { number, plural, Time } from "../../lib/format.js";
import { useLoad } from "../../lib/load.js";
import { html } from "../../lib/preact.js";
import { to } from "../../lib/router.js";
import { hasRole } from "../../lib/session.js";
import { Acts } from "./acts.js";
import { Agents } from "./agents.js";
import { RoleBadge, StateBadge } from "./badges.js";

/** Return the path of a user in the operator's API. */
export const pathOf = (name) => `/api/admin/users/${encodeURIComponent(name)}`;

const BACK = { href: to("users"), label: "Users" };

/** One user: what it is, and for operators what they can do about it. */
export function User({ name }) {
  const account = useLoad(() => route("GET", pathOf(name)), [name]);
  return html`<${Page} title=${account.data?.name ?? name} back=${BACK}>
    <${Loaded} from=${account} back=${BACK}>${(user) => html`
      <div class="columns">
        <${Section} title="User"><${About} user=${user} /><//>
        ${hasRole("operator")
          ? html`<${Acts} user=${user} onChange=${account.setData} reload=${account.reload} />`
          : html`<${Section} title="Changes"><${Notice}>Auditors see users but can't change them. Ask an operator.<//><//>`}
      </div>
      <${Agents} name=${user.name} />`}
    <//>
  <//>`;
}

function About({ user }) {
  const { quota, counts } = user;
  return html`<${Facts} of=${{
    State: html`<${StateBadge} state=${user.state} />`,
    "Suspended since": user.suspended_at && html`<${Time} at=${user.suspended_at} dated />`,
    Role: html`<${RoleBadge} role=${user.role} />`,
    Plan: user.plan,
    "Requests today": quota.limit ? `${number(quota.used)} of ${number(quota.limit)}` : `${number(quota.used)}, no limit`,
    Holds: [
      plural(counts.agents, "agent"),
      plural(counts.domains, "domain"),
      plural(counts.banks, "bank"),
      plural(counts.api_keys, "API key"),
    ].join(", "),
    "Last use": html`<${Time} at=${user.last_used_at} relative />`,
    "User since": html`<${Time} at=${user.created_at} dated />`,
    Description: user.description || null,
    Id: html`<code>${user.id}</code>`,
  }} />`;
}
