import { Checkbox, Field, NameField, Notice, Select, TextArea } from "../../components/index.js";
import { Inline } from "../../components/text.js";
import { html } from "../../lib/preact.js";

const LISTED = { "target.agent": "agents", "target.bank": "banks", "target.domain": "domains" };

/** The fields of a command, one for each member that it uses; onChange(path, value) tells what is typed. */
export function Fields({ command, values, onChange }) {
  const paging = command.members.filter(({ path }) => path.startsWith("page."));
  const others = command.members.filter(({ path }) => !path.startsWith("page."));
  const field = (member) => html`<${Member} key=${member.path} member=${member} value=${values[member.path] ?? ""} onChange=${onChange} />`;
  return html`
    ${command.members.length === 0 && html`<p class="quiet">This command takes no members: send it as it is.</p>`}
    ${others.map(field)}
    ${paging.length > 0 && html`<details class="paging" open=${paging.some(({ path }) => values[path])}>
      <summary>Paging</summary>${paging.map(field)}
    </details>`}`;
}

function Member({ member, value, onChange }) {
  const { path, required, choices, secret, long, limits, type } = member;
  const about = {
    label: html`<code>${path}</code>${required && html` <span class="required">required</span>`}`,
    hint: html`<${Inline} text=${member.help} />`,
    name: path,
    value,
    required,
    onInput: (event) => onChange(path, event.currentTarget.value),
  };
  if (choices) return html`<${Select} ...${about} options=${[["", required ? "Choose one" : "not set"], ...choices]} />`;
  if (secret) return html`<${Field} ...${about} type="password" autocomplete="new-password" maxlength=${limits.maxlength} />`;
  if (type === "integer") return html`<${Field} ...${about} type="number" step="1" min=${limits.min} max=${limits.max} />`;
  if (long) return html`<${TextArea} ...${about} rows=${path === "content" ? 4 : 3} maxlength=${limits.maxlength} />`;
  if (LISTED[path]) return html`<${NameField} of=${LISTED[path]} ...${about} />`;
  return html`<${Field} ...${about} maxlength=${limits.maxlength} />`;
}

/** The request as JSON, for all that a form can't hold. */
export function RawJson({ text, error, onChange }) {
  return html`<${TextArea} label="Request as JSON" rows="12" class="mono" spellcheck=${false} value=${text} error=${error}
    hint="The service is added. Unknown members are refused by the gateway (1003)."
    onInput=${(event) => onChange(event.currentTarget.value)} />`;
}

/** How the answer is to come, for commands that can stream it. */
export function StreamOptions({ command, stream, after, onStream, onAfter }) {
  if (command.endless) {
    return html`<${Field} label="Last-Event-ID" value=${after} inputmode="numeric" pattern="[0-9]*" name="after"
      hint="The id of the event after which to go on; 0 is from the first. Without it the stream begins now."
      onInput=${(event) => onAfter(event.currentTarget.value)} />`;
  }
  if (!command.streams) return null;
  return html`<${Checkbox} label="Stream the answer" name="stream" checked=${stream} hint="Pieces are shown as they arrive."
    onChange=${(event) => onStream(event.currentTarget.checked)} />`;
}

/** What to know before a command is sent that removes something, or ends the console's own session. */
export function Caution({ command }) {
  if (command.service === "US_LogOff") return html`<${Notice} kind="warning">It ends the session of this console, too.<//>`;
  if (command.service === "US_Destroy") {
    return html`<${Notice} kind="warning">It removes your user and all that it owns, for good.<//>`;
  }
  if (command.open) return html`<${Notice}>It needs no credential, and is not counted.<//>`;
  return null;
}
