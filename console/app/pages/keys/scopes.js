import { Badge } from "../../components/index.js";
import { html } from "../../lib/preact.js";

const LISTS = ["services", "agents", "banks", "domains"];

/** What a key may do, as badges: {services, agents, banks, domains, read_only, admin}; absent: all of its user. */
export function Scopes({ of: scopes }) {
  if (!scopes) return html`<span class="quiet">all that you may</span>`;
  const lists = LISTS.filter((list) => scopes[list] !== null);
  return html`<span class="scopes">
    ${scopes.read_only && html`<${Badge} kind="accent">reads only<//>`}
    ${scopes.admin && html`<${Badge} kind="warning">operator's routes<//>`}
    ${lists.map((list) => html`<span key=${list}><span class="fine">${list}</span> ${scopes[list].length === 0
      ? html`<${Badge} kind="bad">none<//>`
      : scopes[list].map((name) => html`<${Badge} key=${name}>${name}<//> `)}</span>`)}
    ${lists.length === 0 && !scopes.read_only && !scopes.admin && html`<span class="quiet">all that you may</span>`}
  </span>`;
}
