import { Button, Empty, ErrorNotice, Field, Loading, Notice, Page, Select, Table } from "../components/index.js";
import { route } from "../lib/api.js";
import { number, plural } from "../lib/format.js";
import { useEvery, useLoad, useSettled } from "../lib/load.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { setQuery, to } from "../lib/router.js";
import Actor from "./actors/actor.js";
import { age } from "./actors/times.js";

const EVERY_MS = 2000;
const FIRST = 100;
const MOST = 1000;

/** The live actors, of all nodes, or one of them. */
export default function Actors({ params, query }) {
  if (params.key) return html`<${Actor} key=${`${params.kind}/${params.key}`} kind=${params.kind} actorKey=${params.key} />`;
  return html`<${List} query=${query} />`;
}

function List({ query }) {
  const [held, setHeld] = useState(false);
  const [limit, setLimit] = useState(FIRST);
  const { kind, name, sort } = query;
  const load = async () => ({ ...(await route("GET", "/debug/actors", { query: { kind, name, sort, limit } })), limit });
  const found = useLoad(load, [kind, name, sort]);
  useEvery(EVERY_MS, () => held || found.loading || found.reload());
  useEffect(() => {
    if (limit > FIRST) found.reload();
  }, [limit]);

  const actions = html`
    <${Button} icon=${held ? "play" : "stop"} onClick=${() => setHeld(!held)}>${held ? "Go on" : "Hold"}<//>
    <${Button} icon="refresh" onClick=${found.reload}>Refresh<//>`;
  return html`<${Page} title="Actors" wide actions=${actions} intro=${introOf(found.data, held)}>
    <${Filters} query=${query} counts=${found.data?.counts ?? {}} />
    <${ErrorNotice} error=${found.error} retry=${found.reload} />
    <${Unreachable} nodes=${found.data?.unreachable ?? []} />
    ${found.data === null ? !found.error && html`<${Loading} />` : html`<div tabindex="-1">
      <${Listed} found=${found.data} sort=${sort} />
      <${More} found=${found.data} busy=${limit > found.data.limit} onMore=${() => setLimit(Math.min(2 * limit, MOST))} />
    </div>`}
  <//>`;
}

function introOf(data, held) {
  if (data === null) return "Live actors of this gateway.";
  const live = Object.values(data.counts).reduce((sum, count) => sum + count, 0);
  return `${plural(live, "live actor")}${held ? ", held" : ", anew every 2 seconds"}.`;
}

function Filters({ query, counts }) {
  const [name, setName] = useState(query.name ?? "");
  const settled = useSettled(name, 250);
  useEffect(() => {
    if (settled !== (query.name ?? "")) setQuery({ name: settled });
  }, [settled]);
  const kinds = Object.keys(counts).sort().map((kind) => [kind, `${kind} (${number(counts[kind])})`]);
  return html`<div class="filters">
    <${Select} label="Kind" options=${[["", "All kinds"], ...kinds]} value=${query.kind ?? ""}
      onChange=${(event) => setQuery({ kind: event.target.value })} />
    <${Field} label="Name begins with" type="search" maxlength="64" value=${name} onInput=${(event) => setName(event.target.value)} />
  </div>`;
}

function Unreachable({ nodes }) {
  if (nodes.length === 0) return null;
  return html`<${Notice} kind="warning" title="Not all nodes answer">The actors of ${nodes.join(", ")} are missing here.<//>`;
}

function Listed({ found, sort = "" }) {
  const several = found.actors.some((actor) => actor.node);
  const columns = [...COLUMNS, ...(several ? [NODE] : [])];
  const member = sort.replace(/^-/, "");
  const by = columns.find((column) => column.sort?.() === member)?.title;
  const onSort = (title) => {
    const wanted = columns.find((column) => column.title === title).sort();
    const first = FIRST_ASCENDING.has(wanted) ? wanted : `-${wanted}`;
    setQuery({ sort: sort === first ? flipped(first) : first });
  };
  return html`<${Table} label="Live actors" columns=${columns} rows=${found.actors} id=${(row) => `${row.node} ${row.kind} ${row.key}`}
    href=${(row) => to("actors", row.kind, row.key)} sort=${{ by, down: sort.startsWith("-") }} onSort=${onSort}
    empty=${html`<${Empty} title="No live actor fits" icon="actors">Actors are live while they are in use; change the filters, or send a command.<//>`} />`;
}

const FIRST_ASCENDING = new Set(["name", "kind"]);
const flipped = (sort) => (sort.startsWith("-") ? sort.slice(1) : `-${sort}`);

function More({ found: { actors, limit }, busy, onMore }) {
  if (actors.length < limit) return null;
  if (limit >= MOST) return html`<p class="quiet">The first ${number(MOST)} in this order are shown; filter to see others.</p>`;
  return html`<div class="more"><${Button} kind="ghost" busy=${busy} onClick=${onMore}>Show more<//></div>`;
}

const COLUMNS = [
  { title: "Name", name: true, sort: () => "name", cell: (row) => row.name ?? html`<span class="mono">${row.key}</span>` },
  { title: "Kind", sort: () => "kind", cell: (row) => row.kind },
  { title: "Waiting", align: "end", sort: () => "mailbox", cell: (row) => number(row.mailbox) },
  { title: "Handled", align: "end", sort: () => "handled", cell: (row) => number(row.handled) },
  { title: "Age", align: "end", sort: () => "age_s", cell: (row) => age(row.age_s) },
  { title: "Idle", align: "end", hideOnPhone: true, sort: () => "idle_s", cell: (row) => age(row.idle_s) },
  { title: "Life", hideOnPhone: true, cell: (row) => row.life },
];

const NODE = { title: "Node", cell: (row) => html`<span class="mono">${row.node}</span>` };
