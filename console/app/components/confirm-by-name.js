import { html, useState } from "../lib/preact.js";
import { Dialog } from "./dialog.js";
import { Field, Form } from "./form.js";
import { Button } from "./button.js";

/** A question before something is lost for good: `name` has to be typed. onConfirm() does it and its error is shown. */
export function ConfirmByName({ title, name, confirm = "Destroy", onConfirm, onClose, children }) {
  const [typed, setTyped] = useState("");
  const submit = async () => {
    if (typed.trim() !== name) throw new Error(`Type ${name} first.`);
    await onConfirm();
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <${Form} onSubmit=${submit} submit=${confirm} submitKind="danger"
      actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Field} label=${`Type ${name} to confirm`} name="typed" required value=${typed}
        onInput=${(event) => setTyped(event.target.value)} />
    <//>
  <//>`;
}
