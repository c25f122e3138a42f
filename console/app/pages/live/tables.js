import { Badge, Empty, Section, Table } from "../../components/index.js";
import { bytes, duration, number } from "../../lib/format.js";
import { html } from "../../lib/preact.js";
import { Link, to } from "../../lib/router.js";
import { countOf } from "./csv.js";

const NODE = { title: "Node", cell: (row) => html`<span class="mono">${row.node}</span>` };

/** The services of the last second, the nodes, the kinds of live actors and the fullest mailboxes. */
export function Tables({ point, node }) {
  const nodes = Object.keys(point.nodes);
  const several = nodes.length > 0;
  return html`
    <${Section} title="Services in the last second">
      <${Table} label="Services in the last second" columns=${several ? [...SERVICES, NODE] : SERVICES}
        rows=${servicesAt(point, node, nodes)} id=${(row) => `${row.service} ${row.node}`}
        empty=${html`<${Empty} title="No requests in the last second" icon="live">Figures appear as soon as requests come.<//>`} />
    <//>
    ${several && html`<${Section} title="Nodes"><${Table} label="Nodes" columns=${NODES} rows=${nodesAt(point)} id=${(row) => row.name} /><//>`}
    <div class="side-by-side">
      <${Section} title="Fullest mailboxes">
        <${Table} label="Fullest mailboxes" columns=${several ? [...MAILBOXES, NODE] : MAILBOXES}
          rows=${point.all.mailboxes.map(withNodeName)} id=${(row) => row.key}
          empty=${html`<${Empty} title="No message waits" icon="actors">Actors that fall behind are listed here.<//>`} />
      <//>
      <${Section} title="Live actors">
        <${Table} label="Live actors by kind" columns=${KINDS} id=${(row) => row.kind}
          rows=${Object.entries((node ? point.nodes[node] : point.all)?.actors ?? {}).map(([kind, count]) => ({ kind, count }))} />
      <//>
    </div>`;
}

function servicesAt(point, node, nodes) {
  const shown = node ? [node] : nodes.length > 0 ? nodes : [""];
  const rowsOf = (name) => {
    const figures = name ? point.nodes[name] : point.all;
    return Object.entries(figures?.services ?? {}).map(([service, of]) => ({ service, node: name, ...of }));
  };
  return shown.flatMap(rowsOf).sort((one, other) => other.rate - one.rate);
}

const nodesAt = (point) => Object.entries(point.nodes).map(([name, figures]) => ({ ...figures, name }));

/** A node's id is its name and some digits. */
const withNodeName = (mailbox) => ({ ...mailbox, node: mailbox.node?.replace(/-[^-]*$/, "") });

const SERVICES = [
  { title: "Service", cell: (row) => html`<span class="mono">${row.service}</span>` },
  { title: "Requests/s", align: "end", cell: (row) => number(row.rate) },
  { title: "p50", align: "end", cell: (row) => duration(row.p50) },
  { title: "p99", align: "end", cell: (row) => duration(row.p99) },
  { title: "Answers by code", cell: (row) => Object.entries(row.codes).map(([code, count]) => html`
    <${Badge} key=${code} kind=${code === "0" ? "good" : "warning"}>${code}: ${number(count)}<//> `) },
];

const NODES = [
  { title: "Node", cell: (row) => html`<span class="mono">${row.name}</span>` },
  { title: "Requests/s", align: "end", cell: (row) => number(row.requests_s) },
  { title: "Loop lag", align: "end", cell: (row) => duration(row.loop_lag_ms) },
  { title: "Units waiting", align: "end", cell: (row) => number(row.units_waiting) },
  { title: "Commits/s", align: "end", cell: (row) => number(row.commits_s) },
  { title: "Actors", align: "end", cell: (row) => number(countOf(row.actors)) },
  { title: "Readers", align: "end", hideOnPhone: true, cell: (row) => number(row.readers) },
  { title: "Memory", align: "end", cell: (row) => bytes(row.memory_bytes) },
];

const MAILBOXES = [
  { title: "Actor", cell: (row) => html`<${Link} href=${to("actors", row.kind, row.key)}>${row.name ?? row.key}<//>` },
  { title: "Kind", cell: (row) => row.kind },
  { title: "Waiting", align: "end", cell: (row) => number(row.mailbox) },
];

const KINDS = [
  { title: "Kind", cell: (row) => html`<${Link} href=${`${to("actors")}?kind=${row.kind}`}>${row.kind}<//>` },
  { title: "Live", align: "end", cell: (row) => number(row.count) },
];
