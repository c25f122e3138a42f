import { AccessSelect, Button, changedOf, Checkbox, Dialog, Field, Form, TextArea, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { html } from "../../lib/preact.js";

/** A dialog that makes an agent; onMade(name) is called when it is there. */
export function NewAgent({ onClose, onMade }) {
  const make = async ({ name, description, profile, access, online }) => {
    const answer = await command("AP_Create", { vx: { name, description, profile: profile || undefined, access } });
    const made = answer.profile[0].name;
    toast(online ? await logOn(made) : `${made} was created.`);
    onMade(made);
  };
  return html`<${Dialog} title="New agent" onClose=${onClose}>
    <${Form} onSubmit=${make} submit="Create" label="New agent" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Fields} />
      <${Checkbox} label="Log it on at once" name="online" defaultChecked hint="Only an agent that is online answers chats." />
    <//>
  <//>`;
}

/** Log on an agent that was just created; returns what came of it. Its page tells of a failure, not the form. */
async function logOn(made) {
  try {
    await command("AP_LogOn", { target: { agent: made } });
    return `${made} was created and is online.`;
  } catch (error) {
    return `${made} was created, but not logged on: ${error.note}`;
  }
}

/** A dialog that changes an agent; onSaved(record) gets it as it is then. */
export function EditAgent({ agent, onClose, onSaved }) {
  const save = async (values) => {
    const vx = changedOf(values, agent);
    if (Object.keys(vx).length === 0) return onClose();
    const answer = await command("AP_Modify", { target: { agent: agent.name }, vx });
    toast("Saved.");
    onClose();
    return onSaved(answer.profile[0]);
  };
  return html`<${Dialog} title=${`Change ${agent.name}`} onClose=${onClose}>
    <${Form} onSubmit=${save} submit="Save" label="Change the agent" actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Fields} agent=${agent} />
    <//>
  <//>`;
}

function Fields({ agent = {} }) {
  const { name, description, profile, access } = agent;
  return html`
    <${Field} label="Name" name="name" required minlength="3" maxlength="64" defaultValue=${name}
      hint="3 to 64 letters, digits, -, _ or ., beginning and ending with a letter or digit; unique in the gateway." />
    <${TextArea} label="Description" name="description" rows="2" required maxlength="8000" defaultValue=${description}
      hint="What people read about it." />
    <${TextArea} label="Profile" name="profile" rows="5" maxlength="8000" required=${Boolean(profile)} defaultValue=${profile}
      hint=${`What it knows of itself and answers from${profile ? "" : "; optional"}.`} />
    <${AccessSelect} of="agents" value=${access} />`;
}
