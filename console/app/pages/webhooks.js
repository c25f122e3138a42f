import { Badge, Button, Empty, Loaded, Page, Table, Tabs } from "../components/index.js";
import { Time } from "../lib/format.js";
import { useLoad } from "../lib/load.js";
import { html, useState } from "../lib/preact.js";
import { navigate, to } from "../lib/router.js";
import { eventTypes, listEndpoints } from "./webhooks/api.js";
import { Deliveries } from "./webhooks/deliveries.js";
import { NewEndpoint } from "./webhooks/edit.js";
import { Endpoint, EndpointState } from "./webhooks/endpoint.js";
import { SendTest } from "./webhooks/test.js";

/** The user's webhook endpoints and all deliveries, or one endpoint. */
export default function Webhooks({ params, query }) {
  const endpoints = useLoad(listEndpoints);
  const catalog = useLoad(eventTypes);
  const both = { ...endpoints, data: endpoints.data && catalog.data ? endpoints.data : null, error: endpoints.error ?? catalog.error };
  if (params.endpoint) {
    return html`<${Endpoint} key=${params.endpoint} id=${params.endpoint} ...${{ endpoints: both, catalog: catalog.data, query }} />`;
  }
  return html`<${Overview} ...${{ endpoints: both, catalog: catalog.data, query }} />`;
}

function Overview({ endpoints, catalog, query }) {
  const [open, setOpen] = useState(null);
  const [fresh, setFresh] = useState(0);
  const close = () => setOpen(null);
  const create = html`<${Button} kind="primary" icon="plus" onClick=${() => setOpen("new")}>New endpoint<//>`;
  const made = (endpoint) => {
    endpoints.reload();
    navigate(to("webhooks", endpoint.id));
  };
  return html`<${Page} title="Webhooks" wide intro="Events of your workspace, sent to your servers: signed, repeated until they arrive."
    actions=${catalog && html`<${Button} icon="send" onClick=${() => setOpen("test")}>Send a test event<//>${create}`}>
    <${Loaded} from=${endpoints}>${(rows) => html`<${Tabs} label="Parts of webhooks" tabs=${[
      { id: "endpoints", label: "Endpoints", content: () => html`<${Endpoints} rows=${rows} create=${create} />` },
      {
        id: "deliveries", label: "Deliveries",
        content: () => html`<${Deliveries} ...${{ endpoints: rows, catalog, query, fresh }} />`,
      },
    ]} />`}<//>
    ${open === "new" && html`<${NewEndpoint} catalog=${catalog} onClose=${close} onMade=${made} />`}
    ${open === "test" && html`<${SendTest} catalog=${catalog} onClose=${close} onSent=${() => setFresh((count) => count + 1)} />`}
  <//>`;
}

const COLUMNS = [
  { title: "Endpoint", cell: ({ url }) => html`<span class="long">${url}</span>` },
  { title: "State", cell: (row) => html`<${EndpointState} of=${row} />` },
  { title: "Events", cell: ({ events }) => html`<${EventBadges} of=${events} />` },
  { title: "Description", hideOnPhone: true, cell: ({ description }) => html`<span class="line">${description}</span>` },
  { title: "Created", hideOnPhone: true, cell: (row) => html`<span class="nowrap"><${Time} at=${row.created_at} relative /></span>` },
];

function EventBadges({ of: events }) {
  if (events.length === 0) return html`<${Badge} kind="accent">all<//>`;
  return html`<span class="chips event-badges">${events.map((event) => html`<${Badge} key=${event}>${event}<//>`)}</span>`;
}

function Endpoints({ rows, create }) {
  const empty = html`<${Empty} title="No endpoints yet" icon="webhooks" actions=${create}>
    An endpoint is an address of yours that events are posted to.
  <//>`;
  return html`<${Table} label="Endpoints" columns=${COLUMNS} rows=${rows} href=${({ id }) => to("webhooks", id)} empty=${empty} />`;
}
