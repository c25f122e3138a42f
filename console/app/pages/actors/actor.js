import { Badge, Button, Empty, ErrorNotice, Facts, Json, LinkButton, Loading, Page, Section, Table } from "../../components/index.js";
import { route } from "../../lib/api.js";
import { duration, number } from "../../lib/format.js";
import { NOT_THERE } from "../../lib/http.js";
import { useEvery, useLoad } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { to } from "../../lib/router.js";
import { age } from "./times.js";

const EVERY_MS = 2000;

/** One live actor: its state as a tree, and its last messages with their times. */
export default function Actor({ kind, actorKey }) {
  const [held, setHeld] = useState(false);
  const path = `/debug/actors/${encodeURIComponent(kind)}/${encodeURIComponent(actorKey)}`;
  const found = useLoad(() => route("GET", path), [path]);
  useEvery(EVERY_MS, () => held || found.loading || found.reload());
  const actor = found.data;
  const owner = ownerOf(actor);
  const actions = html`
    ${owner && html`<${LinkButton} icon="graph" href=${to("graph", owner)}>${owner}'s graph<//>`}
    <${Button} icon=${held ? "play" : "stop"} onClick=${() => setHeld(!held)}>${held ? "Go on" : "Hold"}<//>
    <${Button} icon="refresh" onClick=${found.reload}>Refresh<//>`;
  return html`<${Page} title=${actor?.name ?? actorKey} wide actions=${actions} back=${{ href: `${to("actors")}?kind=${kind}`, label: "Actors" }}
      intro=${`${kind}, ${held ? "held" : "anew every 2 seconds"}`}>
    ${found.error?.code === NOT_THERE
      ? html`<${Empty} title="This actor is not live now" icon="actors">It comes to life with the next message to it; this page notices.<//>`
      : html`<${ErrorNotice} error=${found.error} retry=${found.reload} />`}
    ${actor === null ? !found.error && html`<${Loading} />` : found.error?.code !== NOT_THERE && html`<${Shown} actor=${actor} />`}
  <//>`;
}

function ownerOf(actor) {
  if (actor === null) return null;
  return actor.kind === "user" ? actor.name : (actor.state?.owner ?? actor.state?.user ?? null);
}

function Shown({ actor }) {
  return html`
    <${Section} title="At work">
      <${Facts} of=${{
        Kind: actor.kind,
        Key: html`<span class="mono">${actor.key}</span>`,
        Node: actor.node && html`<span class="mono">${actor.node}</span>`,
        Life: html`<${Badge} kind="accent">${actor.life}<//>`,
        Waiting: number(actor.mailbox),
        Handled: number(actor.handled),
        Age: age(actor.age_s),
        Idle: age(actor.idle_s),
      }} />
    <//>
    <${Section} title="State"><${Json} value=${actor.state} depth=${3} label="State" /><//>
    <${Section} title="Last messages" intro="The last 50, the newest first: types and times, never texts.">
      <${Table} label="Last messages" columns=${MESSAGES} rows=${[...actor.messages].reverse()} id=${(row) => actor.messages.indexOf(row)}
        empty="No message yet" />
    <//>`;
}

const MESSAGES = [
  { title: "Message", cell: (row) => html`<span class="mono">${row.type}</span>` },
  { title: "Waited", align: "end", cell: (row) => duration(row.waiting_ms) },
  { title: "Handled in", align: "end", cell: (row) => duration(row.handling_ms) },
  { title: "Outcome", cell: (row) => html`<${Badge} kind=${row.internal_code === 0 ? "good" : "warning"}>${outcome(row)}<//>` },
];

const outcome = (row) => (row.internal_code ? `${row.outcome}, code ${row.internal_code}` : row.outcome);
