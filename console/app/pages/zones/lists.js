import { Button, Dialog, Empty, Field, Form, LinkButton, Loading, More } from "../../components/index.js";
import { usePages } from "../../components/table.js";
import { command } from "../../lib/api.js";
import { useSettled } from "../../lib/load.js";
import { html, useEffect, useState } from "../../lib/preact.js";
import { Link, navigate, setQuery, to } from "../../lib/router.js";
import { has } from "../../routes.js";

/** The domains that the user sees; `onNone` is told whether there is none. */
export function Domains({ find, onNone }) {
  const prefix = useSettled(find, 200);
  const pages = usePages(async (cursor) => {
    const answer = await command("DM_List", { target: { domain: prefix || undefined }, page: { limit: 50, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  }, [prefix]);
  const none = pages.rows.length === 0 && pages.done;
  useEffect(() => onNone(none && !find), [none, find]);
  return html`
    <div class="talk-list-head">
      <${Field} label="Find a domain" hideLabel type="search" placeholder="Find a domain" value=${find} maxlength="64"
        onInput=${(event) => setQuery({ domain: event.currentTarget.value })} />
    </div>
    <ul>${pages.rows.map((domain) => html`<li key=${domain.id}>
      <${Link} href=${to("zones", domain.name)}>
        <span class="talk-list-title">${domain.name}</span><span class="fine talk-list-text">${domain.description}</span>
      <//>
    </li>`)}</ul>
    ${pages.rows.length === 0 && pages.loading && html`<${Loading} />`}
    ${none && find && html`<p class="quiet talk-list-note">No domain's name begins with that.</p>`}
    ${(pages.rows.length > 0 || pages.error) && html`<${More} pages=${pages} />`}`;
}

/** What is shown in place of a zone where there is no domain to choose. */
export const NoDomains = () => html`<${Empty} title="No domains yet" icon="domains"
  actions=${has("/console/domains") && html`<${LinkButton} kind="primary" href="/console/domains">New domain<//>`}>
  Make one with an agent of yours, or have one invited.<//>`;

/** The zones of a domain, and a way to add one. */
export function Zones({ domain, current }) {
  const [adding, setAdding] = useState(false);
  const pages = usePages(async (cursor) => {
    const answer = await command("ZN_List", { target: { domain }, page: { limit: 100, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  }, [domain]);
  const add = async ({ name }) => {
    const made = (await command("ZN_Create", { target: { domain }, vx: { name: name.trim() } })).profile[0];
    setAdding(false);
    pages.refresh();
    navigate(to("zones", domain, made.name));
  };
  return html`
    <ul>${pages.rows.map((zone) => html`<li key=${zone.id}>
      <${Link} href=${to("zones", domain, zone.name)} aria-current=${zone.name === current ? "page" : undefined}>
        <span class="talk-list-title"># ${zone.name}</span>
      <//>
    </li>`)}</ul>
    ${pages.rows.length === 0 && pages.loading ? html`<${Loading} />` : html`<${More} pages=${pages} />`}
    <p class="talk-list-note"><${Button} kind="ghost" size="small" icon="plus" onClick=${() => setAdding(true)}>New zone<//></p>
    ${adding && html`<${Dialog} title=${`New zone in ${domain}`} onClose=${() => setAdding(false)}>
      <${Form} onSubmit=${add} submit="Create" label="New zone"
        actions=${html`<${Button} onClick=${() => setAdding(false)}>Cancel<//>`}>
        <${Field} label="Name" name="name" required maxlength="64" hint="3 to 64 letters, digits, _, - or ." />
      <//>
    <//>`}`;
}
