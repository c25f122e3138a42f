import { html, useId, useState } from "../lib/preact.js";
import { Button } from "./button.js";
import { Field } from "./form.js";
import { Icon } from "./icons.js";
import { NameField } from "./name-field.js";

/** A list of names that grows and shrinks; `of` names what NameField suggests, or `options` are suggested.
 *
 * What is typed is added when the field is left, too, so a form is never sent without it.
 */
export function ChosenNames({ label, of, options = [], chosen, onChange, nothing, hint }) {
  const [text, setText] = useState("");
  const id = useId();
  const add = () => {
    const name = text.trim();
    if (name !== "" && !chosen.includes(name)) onChange([...chosen, name]);
    setText("");
  };
  const enter = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it adds a name, and does not send the form
    add();
  };
  const field = { label, hint, value: text, onInput: (event) => setText(event.target.value), onKeyDown: enter, onBlur: add };
  return html`<div class="chosen-names" role="group" aria-label=${label}>
    <div class="chosen-add">
      ${of
        ? html`<${NameField} of=${of} ...${field} />`
        : html`<${Field} ...${field} list=${id} /><datalist id=${id}>${options.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`}
      <${Button} onClick=${add} aria-label=${`Add: ${label}`}>Add<//>
    </div>
    ${chosen.length === 0 && html`<p class="fine">${nothing}</p>`}
    ${chosen.length > 0 && html`<ul class="chips">${chosen.map((name) => html`<li class="chip" key=${name}>${name}
      <button type="button" aria-label=${`Remove ${name}`} onClick=${() => onChange(chosen.filter((one) => one !== name))}>
        <${Icon} name="close" />
      </button>
    </li>`)}</ul>`}
  </div>`;
}
