import { Badge, Button, Confirm, Loaded, Section, Table, toast } from "../../components/index.js";
import { route } from "../../lib/api.js";
import { useLoad } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { hasRole } from "../../lib/session.js";

/** A user's agents, which an operator may stop and start. */
export function Agents({ name }) {
  const [asked, setAsked] = useState(null);
  const held = useLoad(async () => {
    const { nodes, truncated } = await route("GET", `/debug/graph/${encodeURIComponent(name)}`);
    return { agents: nodes.filter((node) => node.kind === "agent" && node.owner === name), truncated };
  }, [name]);

  const act = async () => {
    const verb = asked.stopped ? "start" : "stop";
    const { stopped } = await route("POST", `/api/admin/agents/${encodeURIComponent(asked.name)}/${verb}`);
    const changed = (agent) => (agent.id === asked.id ? { ...agent, stopped } : agent);
    held.setData({ ...held.data, agents: held.data.agents.map(changed) });
    toast(`${asked.name} is ${stopped ? "stopped" : "started"}.`);
  };
  const button = (agent) => html`<${Button} size="small" kind=${agent.stopped ? "plain" : "danger"}
    icon=${agent.stopped ? "play" : "stop"} aria-label=${`${agent.stopped ? "Start" : "Stop"} ${agent.name}`}
    onClick=${() => setAsked(agent)}>${agent.stopped ? "Start" : "Stop"}<//>`;
  const columns = [
    { title: "Agent", cell: (agent) => agent.name, wide: true },
    { title: "Chats", cell: (agent) => html`<${Badge} kind=${agent.stopped ? "bad" : "good"}>${agent.stopped ? "stopped" : "allowed"}<//>` },
    ...(hasRole("operator") ? [{ title: "Switch", action: true, align: "end", cell: button }] : []),
  ];

  return html`<${Section} title="Agents" intro="An operator can stop an agent: chats with it are then refused through every door.">
    <${Loaded} from=${held}>${({ agents, truncated }) => html`
      <${Table} label=${`Agents of ${name}`} columns=${columns} rows=${agents} empty="This user has no agents." />
      ${truncated && html`<p class="hint">There are more than are listed here.</p>`}`}
    <//>
    ${asked && html`<${Confirm} title=${`${asked.stopped ? "Start" : "Stop"} ${asked.name}?`}
      confirm=${asked.stopped ? "Start" : "Stop"} kind=${asked.stopped ? "primary" : "danger"}
      onConfirm=${act} onClose=${() => setAsked(null)}>
      ${asked.stopped
        ? "Chats with it are answered again."
        : "Chats with it are refused, and replies under way in private end, until it is started."}
    <//>`}
  <//>`;
}
