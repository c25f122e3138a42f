import { Button, Confirm, Field, Form, Secret, Section, Select, toast } from "../../components/index.js";
import { route } from "../../lib/api.js";
import { html, useState } from "../../lib/preact.js";
import { PLANS, ROLES } from "./badges.js";
import { pathOf } from "./user.js";

/** What an operator may do with a user: plan, role, suspension, a new password. */
export function Acts({ user, onChange, reload }) {
  const [asked, setAsked] = useState(null);
  const [secret, setSecret] = useState(null);
  const suspended = user.state === "suspended";
  const act = async (path, said) => {
    const { secret: made, ...account } = await route("POST", `${pathOf(user.name)}/${path}`);
    onChange(account);
    toast(said);
    return made;
  };
  const suspend = () => act("suspend", `${user.name} is suspended.`);
  const resume = () => act("resume", `${user.name} may log on again.`);
  const reset = async () => setSecret(await act("reset-secret", `${user.name} has a new password.`));

  return html`<${Section} title="Changes">
    <div class="acts">
      <${RoleForm} user=${user} onChange=${onChange} />
      <${PlanForm} user=${user} reload=${reload} />
      ${secret && html`<${Secret} label=${`The new password of ${user.name}`} value=${secret}>
        Give it to the user; it is shown only this once.
      <//>`}
      <div class="form-actions">
        <${Button} icon="keys" onClick=${() => setAsked("reset")}>Reset password<//>
        ${suspended
          ? html`<${Button} icon="play" onClick=${() => setAsked("resume")}>Resume<//>`
          : html`<${Button} kind="danger" icon="stop" onClick=${() => setAsked("suspend")}>Suspend<//>`}
      </div>
    </div>
    ${asked && html`<${Question} asked=${asked} name=${user.name} onConfirm=${{ suspend, resume, reset }[asked]}
      onClose=${() => setAsked(null)} />`}
  <//>`;
}

const QUESTIONS = {
  suspend: {
    title: (name) => `Suspend ${name}?`,
    confirm: "Suspend",
    text: "Its sessions end now, and log-on and API keys are refused. Its agents answer nobody and its deliveries wait, until you resume it.",
  },
  resume: {
    title: (name) => `Resume ${name}?`,
    confirm: "Resume",
    kind: "primary",
    text: "It may log on again, its keys and agents work, and its deliveries go on.",
  },
  reset: {
    title: (name) => `Reset the password of ${name}?`,
    confirm: "Reset password",
    text: "The old password stops working and its sessions end. The new one is shown to you once. API keys stay.",
  },
};

function Question({ asked, name, ...rest }) {
  const { title, confirm, kind, text } = QUESTIONS[asked];
  return html`<${Confirm} title=${title(name)} confirm=${confirm} kind=${kind} ...${rest}>${text}<//>`;
}

function RoleForm({ user, onChange }) {
  const save = async ({ role }) => {
    onChange(await route("PUT", `${pathOf(user.name)}/role`, { body: { role } }));
    toast(`${user.name} has the role ${role}.`);
  };
  return html`<${Form} label="Change of role" onSubmit=${save} submit="Set role" submitKind="plain" inline>
    <${Select} label="Role" name="role" options=${ROLES} value=${user.role} />
  <//>`;
}

function PlanForm({ user, reload }) {
  const [plan, setPlan] = useState(user.plan);
  const save = async ({ limit }) => {
    const body = { plan, ...(plan === "enterprise" && limit ? { limit: Number(limit) } : {}) };
    await route("PUT", `${pathOf(user.name)}/plan`, { body });
    toast(`${user.name} is on plan ${plan}.`);
    await reload();
  };
  return html`<${Form} label="Change of plan" onSubmit=${save} submit="Set plan" submitKind="plain" inline>
    <${Select} label="Plan" name="plan" options=${PLANS} value=${plan} onChange=${(event) => setPlan(event.currentTarget.value)} />
    ${plan === "enterprise" && html`<${Field} label="Requests a day" name="limit" type="number" min="1" step="1"
      placeholder="no limit" defaultValue=${user.plan === "enterprise" ? (user.quota.limit ?? "") : ""} />`}
  <//>`;
}
