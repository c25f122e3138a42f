import { Button, changedOf, Checkbox, Dialog, Field, Form, Secret, Select, TextArea, toast } from "../../components/index.js";
import { Inline } from "../../components/text.js";
import { html, useState } from "../../lib/preact.js";
import { changeEndpoint, createEndpoint } from "./api.js";

/** A dialog that makes an endpoint and shows its secret once; onMade(endpoint) follows. */
export function NewEndpoint({ catalog, onClose, onMade }) {
  const [made, setMade] = useState(null);
  const make = async ({ url, description }, events) => {
    setMade(await createEndpoint({ url, description: description || undefined, events }));
    toast("The endpoint was created.");
  };
  const done = () => {
    onClose();
    if (made) onMade(made);
  };
  return html`<${Dialog} title=${made ? "The endpoint was created" : "New endpoint"} onClose=${done} keep=${made !== null}>
    ${made
      ? html`<${Secret} label="Its secret" value=${made.secret}>Your server verifies deliveries with it. It is shown only this once.<//>
          <div class="form-actions"><${Button} kind="primary" onClick=${done}>Done<//></div>`
      : html`<${EndpointForm} catalog=${catalog} submit="Create" onSubmit=${make} onClose=${onClose} />`}
  <//>`;
}

/** A dialog that changes an endpoint. */
export function EditEndpoint({ endpoint, catalog, onClose, onSaved }) {
  const save = async ({ url, description }, events) => {
    const changed = changedOf({ url, description }, endpoint);
    if (String(events) !== String(endpoint.events)) changed.events = events;
    if (Object.keys(changed).length === 0) return onClose();
    await changeEndpoint(endpoint.id, changed);
    toast("Saved.");
    onClose();
    return onSaved();
  };
  return html`<${Dialog} title="Change the endpoint" onClose=${onClose}>
    <${EndpointForm} endpoint=${endpoint} catalog=${catalog} submit="Save" onSubmit=${save} onClose=${onClose} />
  <//>`;
}

function EndpointForm({ endpoint, catalog, submit, onSubmit, onClose }) {
  const [all, setAll] = useState(!endpoint?.events.length);
  const [chosen, setChosen] = useState(new Set(endpoint?.events ?? []));
  const send = (values) => {
    if (!all && chosen.size === 0) throw new Error("Choose at least one event, or all.");
    return onSubmit(values, all ? [] : [...chosen]);
  };
  return html`<${Form} onSubmit=${async (values) => send(values)} submit=${submit} label="An endpoint"
    actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
    <${Field} label="URL" name="url" type="url" required maxlength="2048" placeholder="https://" defaultValue=${endpoint?.url}
      hint="https, with a public address. Your server answers 2xx within 15 seconds." />
    <${TextArea} label="Description" name="description" rows="2" maxlength="8000" defaultValue=${endpoint?.description}
      required=${Boolean(endpoint?.description)} />
    <${Select} label="Events" name="which" value=${all ? "all" : "some"} onChange=${(event) => setAll(event.target.value === "all")}
      options=${[["all", "All events, also of types to come"], ["some", "Only these"]]} />
    ${!all && html`<${EventChoice} catalog=${catalog} chosen=${chosen} onChange=${setChosen} />`}
  <//>`;
}

/** Boxes for types of events, and for whole groups of types that can be named by a pattern. */
function EventChoice({ catalog, chosen, onChange }) {
  const toggle = (entry) => (event) => {
    const next = new Set(chosen);
    if (event.target.checked) next.add(entry);
    else next.delete(entry);
    onChange(next);
  };
  return html`<fieldset class="events">
    <legend class="offscreen">Types of events</legend>
    ${groupsOf(catalog).map(({ pattern, types }) => html`<div class="event-group" key=${pattern}>
      ${pattern && html`<${Checkbox} label=${pattern} name=${pattern} checked=${chosen.has(pattern)} onChange=${toggle(pattern)} />`}
      <div class=${pattern ? "event-types" : ""}>${types.map(({ type, description }) => html`<${Checkbox} key=${type} label=${type} name=${type}
        hint=${html`<${Inline} text=${description} />`} disabled=${chosen.has(pattern)} checked=${chosen.has(type) || chosen.has(pattern)} onChange=${toggle(type)} />`)}</div>
    </div>`)}
  </fieldset>`;
}

/** The groups of types that an endpoint may name at once. */
const PATTERNS = ["agent.deployment.*", "quota.*", "billing.*", "webhook.endpoint.*"];

function groupsOf(catalog) {
  const groups = PATTERNS.map((pattern) => ({ pattern, types: catalog.filter(({ type }) => type.startsWith(pattern.slice(0, -1))) }));
  const grouped = new Set(groups.flatMap(({ types }) => types));
  return [...groups, { pattern: null, types: catalog.filter((kind) => !grouped.has(kind)) }];
}
