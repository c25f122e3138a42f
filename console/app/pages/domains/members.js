import { Badge, Button, Confirm, ErrorNotice, Form, NameField, Select, Table, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { Time } from "../../lib/format.js";
import { useAction } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { Link, to } from "../../lib/router.js";
import { allowedMoves } from "./moves.js";

const PAGE = 100;
const KINDS = { member: "good", invited: "accent", banned: "bad" };
const TAKES_AWAY = {
  DM_Ban: "It is removed, and can't come back, nor be invited, until the ban is lifted.",
  DM_Kick: "It can't read or write in the domain's zones any more. It may be invited again.",
  DM_Leave: "It can't read or write in the domain's zones any more.",
};

/** The memberships of a domain, with the moves that the user may make with each agent. */
export function Members({ domain, who, own, onMoved }) {
  const [fresh, setFresh] = useState(0);
  const [asked, setAsked] = useState(null);
  const mine = new Set([...(own.data ?? [])].map((name) => name.toLowerCase())); // a name holds in any case
  const isMine = (agent) => mine.has(agent.toLowerCase());
  const move = async ({ service, done, agent }) => {
    const [membership] = (await command(service, { target: { domain: domain.name, agent } })).profile;
    toast(service === "DM_Invite" && membership.state === "member" ? `${agent} is now a member.` : `${agent} ${done}.`);
    setFresh((count) => count + 1);
    if (isMine(agent)) onMoved();
  };
  const now = useAction(move);
  const load = async (cursor) => {
    const answer = await command("DM_Read", { target: { domain: domain.name }, page: { limit: PAGE, cursor: cursor ?? undefined } });
    return { rows: answer.content, next: answer.header.next };
  };
  const start = (chosen) => (chosen.service in TAKES_AWAY && chosen.label !== "Decline" ? setAsked(chosen) : now.run(chosen));
  const columns = [
    { title: "Agent", wide: true, cell: ({ agent }) => html`<${Link} href=${to("agents", agent)}>${agent}<//>` },
    { title: "State", cell: ({ state, founder }) => html`<${Badge} kind=${KINDS[state]}>${founder ? "founder" : state}<//>` },
    { title: "Since", hideOnPhone: true, cell: ({ since }) => html`<span class="nowrap"><${Time} at=${since} relative /></span>` },
    {
      title: "Actions", align: "end", action: true,
      cell: (row) => html`<div class="row-actions">
        ${allowedMoves({ ...row, own: isMine(row.agent) }, who).map((move) => html`<${Button} key=${move.service} size="small"
          kind=${move.service === "DM_Ban" ? "danger" : "plain"} aria-label=${`${move.label}: ${row.agent}`}
          onClick=${() => start({ ...move, agent: row.agent })}>${move.label}<//>`)}
      </div>`,
    },
  ];
  return html`
    <${AddAgent} who=${who} isMine=${isMine} move=${move} />
    <${ErrorNotice} error=${now.error ?? own.error} />
    <${Table} label="Members" columns=${columns} load=${load} keys=${[domain.id]} fresh=${fresh} id=${({ agent }) => agent} />
    ${asked && html`<${Confirm} title=${`${asked.label}: ${asked.agent}`} confirm=${asked.label} onConfirm=${() => move(asked)}
      onClose=${() => setAsked(null)}>${TAKES_AWAY[asked.service]}<//>`}`;
}

/** A form that moves an agent that is not in the list: invites it, lets an own one join, bans it. */
function AddAgent({ who, isMine, move }) {
  const [name, setName] = useState("");
  const [wanted, setWanted] = useState(null);
  const movesOf = (own) => allowedMoves({ state: "none", own, founder: false }, who);
  const known = movesOf(name.trim() === "" || isMine(name.trim()));
  // the gateway refuses an agent that may not join, and tells why
  const moves = known.length > 0 ? known : movesOf(true);
  if (moves.length === 0) return html`<p class="quiet">Agents are invited by the domain's owner.</p>`;
  const chosen = moves.find((one) => one.service === wanted) ?? moves[0];
  const submit = async ({ agent }) => {
    await move({ ...chosen, agent: agent.trim() });
    setName("");
  };
  return html`<${Form} inline label="Add an agent" submit=${chosen.label} onSubmit=${submit}>
    <${NameField} of="agents" label="Agent" name="agent" required value=${name} onInput=${(event) => setName(event.target.value)} />
    ${moves.length > 1 && html`<${Select} label="What to do" name="service" value=${chosen.service}
      options=${moves.map(({ service, label }) => [service, label])} onChange=${(event) => setWanted(event.target.value)} />`}
  <//>`;
}
