import { Badge, Button, Dialog, Empty, Field, Form, Loading, Notice, Page, Select } from "../components/index.js";
import { openEvents } from "../lib/events.js";
import { html, useEffect, useMemo, useState } from "../lib/preact.js";
import { setQuery } from "../lib/router.js";
import { useSession } from "../lib/session.js";
import { Charts, Tiles } from "./live/charts.js";
import { csvOf, download } from "./live/csv.js";
import { addFigures, addMark, clearMarks, figuresOf, history, servicesOf } from "./live/history.js";
import { Tables } from "./live/tables.js";

const WINDOWS = [["60", "Last minute"], ["300", "Last 5 minutes"], ["900", "Last 15 minutes"], ["3600", "Last hour"]];
const STATES = { connecting: "Connecting", open: "Live", lost: "Connection lost", ended: "Ended" };

/** The gateway's figures, once a second: charts with marks, tables, and all of it as CSV. */
export default function Live({ query }) {
  const { points, marks } = history.use();
  const [state, setState] = useState({ name: "connecting", reason: null });
  const [held, setHeld] = useState(null);
  const { record } = useSession();
  const shown = held ?? points;
  const span = Number(query.window) || 300;
  const view = useMemo(() => shown.filter((point) => point.at > (shown.at(-1)?.at ?? 0) - span), [shown, span]);
  useEffect(() => openEvents({
    path: "/debug/stream",
    onEvent: ({ data }) => addFigures(data),
    onState: (name, reason) => setState({ name, reason }),
  }), [record?.csrf]);

  const newest = view.at(-1);
  const node = newest && Object.hasOwn(newest.nodes, query.node) ? query.node : "";
  const save = () => download(`parley-${new Date().toISOString().replace(/[:.]/g, "-")}.csv`, csvOf(points, marks));
  const actions = html`
    <${Status} state=${state.name} held=${held !== null} />
    <${Button} icon=${held ? "play" : "stop"} onClick=${() => setHeld(held ? null : points)}>${held ? "Go on" : "Hold"}<//>
    <${Marks} marks=${marks} />
    <${Button} icon="download" disabled=${points.length === 0} onClick=${save}>CSV<//>`;
  return html`<${Page} title="Live" wide actions=${actions}
      intro="What the gateway does, once a second. Every number here is in /metrics, too.">
    ${state.name === "ended" && html`<${Ended} reason=${state.reason} />`}
    ${newest === undefined ? html`<${Waiting} state=${state.name} />` : html`
      <${Filters} query=${query} points=${view} node=${node} nodes=${Object.keys(newest.nodes)} />
      <${Unreachable} nodes=${newest.all.unreachable ?? []} />
      <${Tiles} figures=${figuresOf(newest, node)} />
      <${Charts} points=${view} span=${span} marks=${marks} node=${node} service=${query.service ?? servicesOf(view, node)[0]} />
      <${Tables} point=${newest} node=${node} />`}
  <//>`;
}

function Status({ state, held }) {
  const kind = held ? "warning" : { open: "good", connecting: "neutral" }[state] ?? "bad";
  return html`<span role="status"><${Badge} kind=${kind}>${held ? "Held" : STATES[state]}<//></span>`;
}

function Waiting({ state }) {
  if (state === "ended") return html`<${Empty} title="No figures" icon="live">The stream has ended before its first event.<//>`;
  return html`<${Loading} />`;
}

function Ended({ reason }) {
  const text = reason?.note ?? (reason ? `The stream has ended: ${reason}.` : "The stream has ended.");
  return html`<${Notice} kind="warning" title="No more figures">${text} Load the page again to follow it anew.<//>`;
}

function Unreachable({ nodes }) {
  if (nodes.length === 0) return null;
  return html`<${Notice} kind="warning" title="Not all nodes answer">${nodes.join(", ")} did not answer; their figures are missing.<//>`;
}

function Filters({ query, points, node, nodes }) {
  const services = useMemo(() => servicesOf(points, node).sort(), [points, node]);
  const pick = (name) => (event) => setQuery({ [name]: event.target.value });
  return html`<div class="filters">
    <${Select} label="Time" options=${WINDOWS} value=${query.window ?? "300"} onChange=${pick("window")} />
    <${Select} label="Latency of" options=${[["", "Busiest service"], ...services]}
      value=${query.service ?? ""} onChange=${pick("service")} />
    ${nodes.length > 0 && html`<${Select} label="Node" options=${[["", "All nodes"], ...nodes]} value=${node} onChange=${pick("node")} />`}
  </div>`;
}

function Marks({ marks }) {
  const [open, setOpen] = useState(false);
  const add = ({ label }) => {
    addMark(label.trim());
    setOpen(false);
  };
  return html`
    <${Button} icon="plus" onClick=${() => setOpen(true)}>Mark<//>
    ${marks.length > 0 && html`<${Button} kind="ghost" onClick=${clearMarks}>Clear ${marks.length === 1 ? "mark" : `${marks.length} marks`}<//>`}
    ${open && html`<${Dialog} title="Mark this moment" onClose=${() => setOpen(false)}>
      <${Form} label="Mark this moment" submit="Add mark" onSubmit=${add}
        actions=${html`<${Button} onClick=${() => setOpen(false)}>Cancel<//>`}>
        <${Field} label="What happens now" name="label" required maxlength="60" placeholder="run 7 starts" hint="Shown as a line in all charts, and in the CSV." />
      <//>
    <//>`}`;
}
