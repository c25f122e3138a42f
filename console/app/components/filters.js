import { html, useEffect, useState } from "../lib/preact.js";
import { useSettled } from "../lib/load.js";
import { setQuery, useRoute } from "../lib/router.js";
import { Field, Select } from "./form.js";

const MAX_IN_LINK = 500; // up to nine times as much as a link encodes it; the gateway takes a head of up to 8 KiB

/** A text field whose value is a member of the link's query, which follows once the user stops typing.
 *
 * With `onEnter` it follows at Enter only, as it says below, or when the field is left; with `exact` spaces around the
 * text count, too.
 */
export function TextFilter({ name, onEnter = false, exact = false, ...rest }) {
  const held = useRoute().query[name] ?? "";
  const [text, setText] = useState(held);
  const settled = useSettled(text);
  useEffect(() => {
    if (!onEnter && settled !== held) setQuery({ [name]: settled });
  }, [settled]);
  useEffect(() => {
    if (held !== settled) setText(held);
  }, [held]);
  const enter = ({ currentTarget: { value } }) => setQuery({ [name]: exact ? value : value.trim() });
  return html`<${Field} maxlength=${MAX_IN_LINK} hint=${onEnter && "Enter searches."} ...${rest} value=${text} onInput=${(event) => setText(event.currentTarget.value)}
    onChange=${onEnter ? enter : undefined} />`;
}

/** A choice whose value is a member of the link's query; the first of `options` stands for none. */
export function SelectFilter({ name, options, ...rest }) {
  const held = useRoute().query[name] ?? "";
  const change = (event) => setQuery({ [name]: event.currentTarget.value });
  return html`<${Select} ...${rest} options=${options} value=${held} onChange=${change} />`;
}

/** A time whose ISO form is a member of the link's query. */
export function TimeFilter({ name, ...rest }) {
  const held = useRoute().query[name];
  const change = (event) => {
    const at = new Date(event.currentTarget.value);
    setQuery({ [name]: Number.isNaN(at.getTime()) ? null : at.toISOString() });
  };
  return html`<${Field} ...${rest} type="datetime-local" value=${localTime(held)} onChange=${change} />`;
}

function localTime(iso) {
  const at = new Date(iso ?? "");
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
