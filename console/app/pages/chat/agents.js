import { Badge, Button, Empty, ErrorNotice, Field, LinkButton, Loading, More, Notice } from "../../components/index.js";
import { usePages } from "../../components/table.js";
import { command } from "../../lib/api.js";
import { useAction, useSettled } from "../../lib/load.js";
import { html, useEffect } from "../../lib/preact.js";
import { Link, setQuery, to } from "../../lib/router.js";
import { session } from "../../lib/session.js";
import { has } from "../../routes.js";

/** A list of the agents to chat with: own ones and the roster; `onNone` is told whether there is none. */
export function Agents({ find, onNone }) {
  const prefix = useSettled(find, 200);
  const pages = usePages(async (cursor) => {
    const answer = await command("AP_List", { target: { agent: prefix || undefined }, page: { limit: 50, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  }, [prefix]);
  const none = pages.rows.length === 0 && pages.done;
  useEffect(() => onNone(none && !find), [none, find]);
  return html`
    <div class="talk-list-head">
      <${Field} label="Find an agent" hideLabel type="search" placeholder="Find an agent" value=${find} maxlength="64"
        onInput=${(event) => setQuery({ agent: event.currentTarget.value })} />
    </div>
    <ul>${pages.rows.map((agent) => html`<li key=${agent.id}>
      <${Link} href=${to("chat", agent.name)}>
        <span class="talk-list-title">${agent.name} <${State} state=${agent.state} /></span>
        <span class="fine talk-list-text">${agent.owner === session().user ? agent.description : `of ${agent.owner} · ${agent.description}`}</span>
      <//>
    </li>`)}</ul>
    ${pages.rows.length === 0 && pages.loading && html`<${Loading} />`}
    ${none && find && html`<p class="quiet talk-list-note">No agent's name begins with that.</p>`}
    ${(pages.rows.length > 0 || pages.error) && html`<${More} pages=${pages} />`}`;
}

/** What is shown in place of a chat where there is no agent to choose. */
export const NoAgents = () => html`<${Empty} title="No agents yet" icon="agents"
  actions=${has("/console/agents") && html`<${LinkButton} kind="primary" href="/console/agents">New agent<//>`}>
  Make one, or add another user's agent to your roster.<//>`;

/** An agent's state as a word and a colour. */
export const State = ({ state }) => html`<${Badge} kind=${state === "online" ? "good" : "neutral"}>${state}<//>`;

/** Why an agent doesn't answer, and what to do about that; nothing for one that does. */
export function Unavailable({ agent, onChange }) {
  const wake = useAction(async () => {
    await command("AP_LogOn", { target: { agent: agent.name } });
    onChange();
  });
  if (agent.state === "online") return null;
  const isOwn = agent.owner === session().user;
  return html`
    <${Notice} kind="warning" actions=${isOwn && html`<${Button} busy=${wake.busy} onClick=${wake.run}>Bring it online<//>`}>
      ${agent.name} is offline and answers nobody. ${isOwn ? "" : `Only its owner, ${agent.owner}, can bring it online.`}
    <//>
    <${ErrorNotice} error=${wake.error} />`;
}
