import { Button, Choice, Dialog, Form, TextArea, toast } from "../../components/index.js";
import { Inline } from "../../components/text.js";
import { plural } from "../../lib/format.js";
import { html } from "../../lib/preact.js";
import { sendTest } from "./api.js";

const DATA = JSON.stringify({ hello: "world" }, null, 2);

/** A dialog that sends an event of any type with data of one's own to all endpoints that take it. */
export function SendTest({ catalog, onClose, onSent }) {
  const send = async ({ type, data }) => {
    const { deliveries } = await sendTest(type, parsed(data));
    toast(deliveries === 0 ? "No active endpoint takes this event." : `The event is on its way to ${plural(deliveries, "endpoint")}.`);
    onClose();
    onSent();
  };
  const types = catalog.map(({ type, description }) => [type, type, html`<${Inline} text=${description} />`]);
  return html`<${Dialog} title="Send a test event" onClose=${onClose}>
    <${Form} onSubmit=${send} submit="Send" label="A test event" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Choice} label="Type" name="type" options=${types} value="webhook.test" />
      <${TextArea} label="Data" name="data" rows="6" class="mono" spellcheck=${false} defaultValue=${DATA} hint="A JSON object, sent as the event's data." />
    <//>
  <//>`;
}

function parsed(text) {
  let data;
  try {
    data = JSON.parse(text || "{}");
  } catch (error) {
    throw new Error(`The data is not JSON: ${error.message}`);
  }
  if (data === null || typeof data !== "object" || Array.isArray(data)) throw new Error("The data must be a JSON object.");
  return data;
}
