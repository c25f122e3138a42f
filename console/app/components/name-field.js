import { command } from "../lib/api.js";
import { useSettled } from "../lib/load.js";
import { html, useEffect, useId, useRef, useState } from "../lib/preact.js";
import { Link, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { Field } from "./form.js";

const SHOWN = 50;
const LISTS = {
  agents: { service: "AP_List", member: "agent" },
  banks: { service: "MB_List", member: "bank" },
  domains: { service: "DM_List", member: "domain" },
};

/** A field for the name of one of the user's "agents", "banks" or "domains" (`of`), with suggestions as one types.
 *
 * `own` leaves out what belongs to others, `first` is the text at first; `only` fills in the only one there is, and
 * says where to make one if there is none. Takes the attributes of Field; `onInput` gets the event.
 */
export function NameField({ of, own = false, only = false, first = "", value: given, hint, onInput, ...rest }) {
  const [typed, setTyped] = useState(first);
  const text = given ?? typed;
  const id = useId();
  const { names, none, ask } = useSuggestions(of, own, text);
  useEffect(() => {
    if (only) ask();
  }, [only]);
  useEffect(() => {
    if (only && names.length === 1 && text === "") setTyped(names[0]);
  }, [only, names]);
  const input = (event) => {
    setTyped(event.target.value);
    onInput?.(event);
  };
  const missing = only && none && html`You have none yet: <${Link} href=${to(of)}>make one first<//>.`;
  return html`<div class="name-field">
    <${Field} ...${rest} hint=${missing || hint} value=${text} onInput=${input} onFocus=${ask} list=${id} maxlength="64" />
    <datalist id=${id}>${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
  </div>`;
}

/** Names that begin with a text; once a list was complete, the browser narrows it down by itself. */
function useSuggestions(of, own, text) {
  const [wanted, setWanted] = useState(false);
  const [names, setNames] = useState([]);
  const [none, setNone] = useState(false);
  const whole = useRef(null);
  const prefix = useSettled(text);
  useEffect(() => {
    if (!wanted || (whole.current !== null && prefix.startsWith(whole.current))) return undefined;
    let current = true;
    suggested(of, own, prefix).then(
      (found) => {
        if (!current) return;
        setNames(found.names);
        setNone(found.complete && prefix === "" && found.names.length === 0);
        if (found.complete) whole.current = prefix;
      },
      () => {}, // no suggestions; what is typed is checked when it is sent
    );
    return () => {
      current = false;
    };
  }, [wanted, prefix, of, own]);
  return { names, none, ask: () => setWanted(true) };
}

async function suggested(of, own, prefix) {
  const { service, member } = LISTS[of];
  const answer = await command(service, { target: { [member]: prefix || undefined }, page: { limit: SHOWN } });
  const { user } = session();
  const rows = own ? answer.profile.filter(({ owner }) => owner === user) : answer.profile;
  return { names: rows.map(({ name }) => name), complete: answer.header.next === null };
}
