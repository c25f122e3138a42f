import { Button, Dialog, Field, Form, NameField, Notice, Select, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { plural } from "../../lib/format.js";
import { html, useState } from "../../lib/preact.js";

const ALL = "*";
const ACTS = {
  censor: {
    service: "MB_Censor", title: "Censor memories", button: "Censor for good", done: "censored",
    text: "The texts are erased for good: from the bank, and from all chats and replies that quote them. Name, author and time stay. This can't be undone.",
    one: "Its text is erased for good: from the bank, and from all chats and replies that quote it. Name, author and time stay. This can't be undone.",
  },
  delete: {
    service: "MB_Delete", title: "Delete memories", button: "Delete", done: "deleted",
    text: "The memories are removed from the bank; what was said in chats stays as it was said. This can't be undone.",
    one: "It is removed from the bank; what was said in chats stays as it was said. This can't be undone.",
  },
};

/** Censor or delete memories: `chosen` is {name} or {agent}; a toast says how many there were. */
export async function remove(act, bank, { name, agent }) {
  const { service, done } = ACTS[act];
  const answer = await command(service, { target: { bank: bank.name, agent }, vx: name === undefined ? undefined : { name } });
  toast(`${plural(answer.content[0].memories, "memory", "memories")} ${done}.`);
}

/** What an act ("censor" or "delete") does to one memory, in words. */
export const warning = (act) => ACTS[act].one;

/** What the button of an act says. */
export const buttonOf = (act) => ACTS[act].button;

/** A dialog that censors or deletes one memory, all of an agent's, or all of a bank. */
export function Removal({ act, bank, onClose, onDone }) {
  const [which, setWhich] = useState("one");
  const { title, button, text } = ACTS[act];
  const submit = async ({ name, agent, typed }) => {
    if (which === "all" && typed.trim() !== bank.name) throw new Error(`Type ${bank.name} first.`);
    const chosen = { one: { name }, agent: { agent }, all: { name: ALL } }[which];
    await remove(act, bank, chosen);
    onClose();
    onDone();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Notice} kind="warning">${text}<//>
    <${Form} onSubmit=${submit} submit=${button} submitKind="danger" label=${title} actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Select} label="Which memories" name="which" value=${which} onChange=${(event) => setWhich(event.target.value)}
        options=${[["one", "One, by its name"], ["agent", "All by one agent"], ["all", "All in the bank"]]} />
      ${which === "one" && html`<${Field} label="Name of the memory" name="name" required maxlength="200"
        hint="Of a document in parts: the name before the slash means all of them." />`}
      ${which === "agent" && html`<${NameField} of="agents" label="Author" name="agent" required />`}
      ${which === "all" && html`<${Field} label=${`Type ${bank.name} to confirm`} name="typed" required />`}
    <//>
  <//>`;
}
