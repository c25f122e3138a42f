import { html, useId, useState } from "../lib/preact.js";
import { useAction } from "../lib/load.js";
import { Button } from "./button.js";
import { ErrorNotice } from "./notice.js";

/** A form: onSubmit(values, form) gets its fields by name; it shows the busy state and the error that it throws.
 *
 * Values are strings; a checkbox's is true or false. `submit` is the button's text, `actions` stand beside it.
 */
export function Form({ onSubmit, submit = "Save", submitKind = "primary", actions, label, inline = false, children }) {
  const action = useAction(onSubmit);
  const send = (event) => {
    event.preventDefault();
    action.run(valuesOf(event.currentTarget), event.currentTarget);
  };
  return html`<form class=${inline ? "form inline" : "form"} onSubmit=${send} aria-label=${label} novalidate=${false}>
    ${children}
    <${ErrorNotice} error=${action.error} />
    <div class="form-actions">
      <${Button} type="submit" kind=${submitKind} busy=${action.busy}>${submit}<//>${actions}
    </div>
  </form>`;
}

/** Return the values of a form's fields by their names. */
export function valuesOf(form) {
  const values = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    if (field.type === "checkbox") values[field.name] = field.checked;
    else if (field.type !== "radio" || field.checked) values[field.name] = field.value;
  }
  return values;
}

/** Return the values of a form that differ from the record that filled it; so a change made elsewhere stays. */
export function changedOf(values, record) {
  return Object.fromEntries(Object.entries(values).filter(([member, value]) => value !== asShown(record[member] ?? "")));
}

/** Return a text as a field gives it back: all its line breaks are "\n". */
export const asShown = (text) => text.replace(/\r\n?/g, "\n");

function Labelled({ label, hint, error, hidden, children }) {
  const id = useId();
  const about = [hint ? `${id}-hint` : null, error ? `${id}-error` : null].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for=${id} class=${hidden ? "offscreen" : undefined}>${label}</label>
    ${children({ id, "aria-describedby": about || undefined, "aria-invalid": error ? "true" : undefined })}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}

/** A line of text with its label; takes the attributes of <input>. `hideLabel` leaves it to screen readers. */
export function Field({ label, hint, error, hideLabel = false, type = "text", ...rest }) {
  return html`<${Labelled} label=${label} hint=${hint} error=${error} hidden=${hideLabel}>
    ${(about) => html`<input type=${type} spellcheck=${false} autocomplete="off" ...${rest} ...${about} />`}
  <//>`;
}

/** Some lines of text with their label; takes the attributes of <textarea>. */
export function TextArea({ label, hint, error, hideLabel = false, rows = 4, ...rest }) {
  return html`<${Labelled} label=${label} hint=${hint} error=${error} hidden=${hideLabel}>
    ${(about) => html`<textarea rows=${rows} ...${rest} ...${about}></textarea>`}
  <//>`;
}

/** A choice of `options`, which are strings or [value, text]; takes the attributes of <select>.
 *
 * A value that is none of them, such as one of an old link, is shown as one more.
 */
export function Select({ label, hint, error, hideLabel = false, options, value, ...rest }) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  if (value !== undefined && !pairs.some(([key]) => key === value)) pairs.push([value, value]);
  return html`<${Labelled} label=${label} hint=${hint} error=${error} hidden=${hideLabel}>
    ${(about) => html`<select ...${rest} ...${about}>
      ${pairs.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}
    </select>`}
  <//>`;
}

/** A Select whose `options` are [value, words, meaning]; what the chosen one means stands below it. */
export function Choice({ options, value, ...rest }) {
  const [chosen, setChosen] = useState(null);
  const now = chosen ?? value ?? options[0][0];
  const meaning = options.find(([key]) => key === now)?.[2];
  return html`<${Select} ...${rest} options=${options} value=${now} hint=${meaning}
    onChange=${(event) => setChosen(event.currentTarget.value)} />`;
}

/** A box to tick, with its label behind it. */
export function Checkbox({ label, hint, ...rest }) {
  const id = useId();
  return html`<div class="field checkbox">
    <input type="checkbox" id=${id} ...${rest} aria-describedby=${hint ? `${id}-hint` : undefined} />
    <label for=${id}>${label}</label>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}
