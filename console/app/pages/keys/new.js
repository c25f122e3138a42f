import { Button, Checkbox, ChosenNames, CopyButton, Dialog, Field, Form, Secret, Select, toast } from "../../components/index.js";
import { route } from "../../lib/api.js";
import { html, useEffect, useState } from "../../lib/preact.js";
import { hasRole, session } from "../../lib/session.js";
import { loadCommands } from "../explorer/schema.js";

const DAYS = [["30", "30 days"], ["90", "90 days"], ["365", "One year"], ["", "Never"], ["other", "Another number of days"]];
const KINDS = [
  { list: "services", label: "Services", all: "All services and routes", hint: "A command such as AP_Chat, or a group such as AP_*." },
  { list: "agents", label: "Agents", all: "All agents" },
  { list: "banks", label: "Banks", all: "All banks" },
  { list: "domains", label: "Domains", all: "All domains" },
];

/** A dialog that makes an API key and shows it once; onMade() follows. */
export function NewKey({ onClose, onMade }) {
  const [made, setMade] = useState(null);
  const [days, setDays] = useState("90");
  const [lists, setLists] = useState({});
  const services = useServices();
  const make = async ({ name, other, limit, read_only: readOnly, admin }) => {
    const scopes = { ...lists, ...(readOnly && { read_only: true }), ...(admin && { admin: true }) };
    const body = {
      name,
      expires_in_days: days === "" ? undefined : Number(days === "other" ? other : days),
      limit: limit ? Number(limit) : undefined,
      scopes: Object.keys(scopes).length > 0 ? scopes : undefined,
    };
    setMade(await route("POST", "/api/api-keys", { body }));
    toast(`${name} was created.`);
    onMade();
  };
  if (made) return html`<${Made} made=${made} onClose=${onClose} />`;
  return html`<${Dialog} title="New API key" onClose=${onClose} wide>
    <${Form} onSubmit=${make} submit="Create" label="An API key" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Field} label="Name" name="name" required maxlength="200" hint="What it is for." />
      <div class="form-row">
        <${Select} label="Expires" name="days" options=${DAYS} value=${days} onChange=${(event) => setDays(event.target.value)} />
        ${days === "other" && html`<${Field} label="Days" name="other" type="number" required min="1" max="3650" step="1" />`}
        <${Field} label="Requests a day" name="limit" type="number" min="1" step="1" placeholder="no limit of its own" />
      </div>
      <${Checkbox} label="Reads only" name="read_only" hint="It changes nothing, so it can't chat either." />
      ${KINDS.map((kind) => html`<${Restriction} key=${kind.list} ...${kind} options=${kind.list === "services" ? services : []}
        chosen=${lists[kind.list]} onChange=${(chosen) => setLists(changed(lists, kind.list, chosen))} />`)}
      ${hasRole("auditor") && html`<${Checkbox} label="Opens the operator's routes" name="admin"
        hint="As far as your role does; needs a key without a list of services." />`}
    <//>
  <//>`;
}

function changed(lists, list, chosen) {
  const { [list]: before, ...others } = lists;
  return chosen === null ? others : { ...others, [list]: chosen };
}

function Restriction({ list, label, all, hint, options, chosen, onChange }) {
  const limited = chosen !== undefined;
  const choose = (event) => onChange(event.target.value === "all" ? null : (chosen ?? []));
  return html`
    <${Select} label=${label} name=${`which ${list}`} value=${limited ? "some" : "all"} onChange=${choose}
      options=${[["all", all], ["some", "Only these"]]} />
    ${limited && html`<${ChosenNames} label=${`Allowed ${list}`} of=${list === "services" ? undefined : list} options=${options} hint=${hint}
      chosen=${chosen} onChange=${onChange} nothing=${`None yet: an empty list allows no ${list}.`} />`}`;
}

/** The names of all services and their groups, for suggestions. */
function useServices() {
  const [names, setNames] = useState([]);
  useEffect(() => {
    loadCommands().then((commands) => {
      const services = commands.map(({ service }) => service);
      setNames([...new Set(services.map((service) => `${service.split("_")[0]}_*`)), ...services]);
    }, () => {}); // no suggestions; the gateway checks the names
  }, []);
  return names;
}

function Made({ made, onClose }) {
  const curl = [
    `curl ${location.origin}${session().bus}`,
    `-H 'X-Api-Key: ${made.key}'`,
    "-H 'Content-Type: application/json'",
    `-d '{"service": "US_Read"}'`,
  ].join(" \\\n  ");
  return html`<${Dialog} title=${`${made.name} was created`} onClose=${onClose} wide keep>
    <${Secret} label="The key" value=${made.key}>Store it now: it is shown only this once.<//>
    <div class="form-actions">
      <${CopyButton} text=${curl} label="Copy a first request as curl" size="" />
      <${Button} kind="primary" onClick=${onClose}>Done<//>
    </div>
  <//>`;
}
