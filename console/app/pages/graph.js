import { Badge, Button, Empty, ErrorNotice, Facts, Field, Form, LinkButton, Loaded, Notice, Page, Section, Table } from "../components/index.js";
import { route } from "../lib/api.js";
import { plural } from "../lib/format.js";
import { useLoad } from "../lib/load.js";
import { html, useLayoutEffect, useMemo, useRef } from "../lib/preact.js";
import { Link, navigate, setQuery, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { laidOut } from "./graph/layout.js";

/** Who holds whom around a user: agents, domains and banks, and who else has a part in them. */
export default function Graph({ params, query }) {
  const name = params.name ?? session().user;
  const found = useLoad(() => route("GET", `/debug/graph/${encodeURIComponent(name)}`), [name]);
  const actions = html`<${Button} icon="refresh" busy=${found.loading} onClick=${found.reload}>Refresh<//>`;
  return html`<${Page} title="Graph" wide actions=${actions}
      intro=${`Who holds whom: what ${name} owns, and who else has a part in it.`}>
    <${Form} inline label="Another user" submit="Show" submitKind="plain" onSubmit=${({ user }) => navigate(to("graph", user.trim()))}>
      <${Field} label="User" name="user" key=${name} value=${name} required />
    <//>
    ${found.error ? html`<${ErrorNotice} error=${found.error} retry=${found.reload} back=${{ href: to("graph"), label: "your own" }} />`
      : html`<${Loaded} from=${found}>${(graph) => html`<${Shown} graph=${graph} chosen=${query.chosen} />`}<//>`}
  <//>`;
}

function Shown({ graph, chosen }) {
  const picture = useMemo(() => laidOut(graph), [graph]);
  const node = picture.nodes.find(({ id }) => id === chosen);
  if (graph.nodes.length === 0) {
    return html`<${Empty} title=${`${graph.user.name} holds nothing`} icon="graph">Agents, domains and banks appear here once they are made.<//>`;
  }
  return html`
    ${graph.truncated && html`<${Notice} kind="warning" title="Not everything is shown">There is more than fits here; the user's own come first.<//>`}
    <p class="quiet graph-words">${plural(picture.nodes.length, "entity", "entities")}, ${plural(picture.edges.length, "relation")}. Choose one to see its relations.</p>
    <${Picture} picture=${picture} chosen=${node?.id} label=${`Who holds whom around ${graph.user.name}`} />
    ${node && html`<${Chosen} node=${node} user=${graph.user} />`}
    <${Relations} picture=${picture} node=${node} />`;
}

function Picture({ picture, chosen, label }) {
  const { width, height, size, nodes, edges } = picture;
  const touched = new Set(edges.filter(({ from, to: end }) => from === chosen || end === chosen).flatMap(({ from, to: end }) => [from, end]));
  const faded = (isTouched) => (chosen && !isTouched ? "graph-faded" : "");
  const frame = useRef(null);
  useLayoutEffect(() => {
    frame.current.scrollTop = (height - frame.current.clientHeight) / 2; // the user is at half of the height
  }, [label, height]);
  return html`<div class="graph-frame" role="region" aria-label=${label} tabindex="0" ref=${frame}>
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${label}>
      ${edges.map((edge) => {
        const touches = edge.from === chosen || edge.to === chosen;
        return html`<path key=${edge.id} d=${edge.path} class=${`graph-edge ${edge.relation} ${touches ? "chosen" : faded(false)}`} />`;
      })}
      ${nodes.map((node) => html`<${Node} key=${node.id} node=${node} size=${size} chosen=${node.id === chosen}
        class=${faded(node.id === chosen || touched.has(node.id))} />`)}
    </svg>
  </div>`;
}

function Node({ node, size, chosen, class: more }) {
  const choose = () => setQuery({ chosen: chosen ? null : node.id });
  const onKeyDown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  const kind = node.own ? node.kind : `${node.kind} of ${node.owner}`;
  return html`<g class=${`graph-node ${node.own ? "own" : ""} ${chosen ? "chosen" : ""} ${more}`} transform=${`translate(${node.x} ${node.y})`}
      role="button" tabindex="0" aria-pressed=${String(chosen)}
      onClick=${choose} onKeyDown=${onKeyDown}>
    <rect width=${size.width} height=${size.height} rx="7" />
    <text x="12" y="18" class="graph-kind">${kind}</text>${" "}
    <text x="12" y="35">${fitting(node.name, size.width - 24)}</text>
  </g>`;
}

const pen = document.createElement("canvas").getContext("2d");

/** Return as much of a name as fits a width in pixels. */
function fitting(name, width) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`; // as .graph-node text has it
  const fits = (text) => pen.measureText(text).width <= width;
  if (fits(name)) return name;
  let length = name.length;
  while (length > 1 && !fits(`${name.slice(0, length)}…`)) length -= 1;
  return `${name.slice(0, length)}…`;
}

function Chosen({ node, user }) {
  const actions = html`
    <${LinkButton} icon="actors" href=${to("actors", node.kind, node.id)}>Its actor<//>
    ${node.owner !== user.name && html`<${LinkButton} icon="graph" href=${to("graph", node.owner)}>${node.owner}'s graph<//>`}`;
  return html`<${Section} title=${node.name} actions=${actions}>
    <${Facts} of=${{
      Kind: node.kind,
      Owner: html`<${Link} href=${to("users", node.owner)}>${node.owner}<//>`,
      Id: html`<span class="mono">${node.id}</span>`,
    }} />
  <//>`;
}

/** The same as a table, for whoever does not see the picture. */
function Relations({ picture, node }) {
  const names = new Map(picture.nodes.map((each) => [each.id, each]));
  const rows = picture.edges.filter(({ from, to: end }) => !node || from === node.id || end === node.id)
    .map((edge) => ({ ...edge, holder: names.get(edge.from), held: names.get(edge.to) }));
  return html`<${Section} title=${node ? `Relations of ${node.name}` : "All relations"}>
    <${Table} label="Relations" columns=${RELATIONS} rows=${rows} empty="No relations" />
  <//>`;
}

const KINDS = { admin: "accent", founder: "accent", banned: "bad", offered: "warning", invited: "warning" };

const RELATIONS = [
  { title: "Who", name: true, cell: ({ holder }) => holder.name },
  { title: "Kind", hideOnPhone: true, cell: ({ holder }) => holder.kind },
  { title: "Relation", cell: ({ relation }) => html`<${Badge} kind=${KINDS[relation] ?? "neutral"}>${relation}<//>` },
  { title: "To", name: true, cell: ({ held }) => held.name },
  { title: "Its kind", cell: ({ held }) => held.kind },
];
