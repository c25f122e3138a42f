import { Badge, Button, Facts, Icon, Loaded, Page, Section } from "../components/index.js";
import { command } from "../lib/api.js";
import { number, plural, Time } from "../lib/format.js";
import { useLoad } from "../lib/load.js";
import { html } from "../lib/preact.js";
import { Link } from "../lib/router.js";
import { session } from "../lib/session.js";
import { has } from "../routes.js";

const COUNTS = [
  ["agents", "Agents", "agents"],
  ["domains", "Domains", "domains"],
  ["banks", "Banks", "banks"],
  ["api_keys", "API keys", "keys"],
];

const WAYS = [
  ["/console/agents", "agents", "New agent", "It answers chats from its profile and its memory banks."],
  ["/console/chat", "chat", "Chat with an agent", "Replies arrive as they are written, with their sources."],
  ["/console/zones", "zones", "Follow a zone", "A domain's messages, live, from all its members."],
  ["/console/explorer", "explorer", "Try a command", "A form for each command, and the same as curl or Python."],
  ["/console/keys", "keys", "New API key", "For your programs, limited to what they need."],
  ["/console/live", "live", "Watch the gateway", "Rates, times and queues, once a second."],
  ["/console/users", "users", "Look after users", "Plans, roles and states; operators change them."],
];

const USED_UP = 4000;

/** Today's quota, what the user has, and ways to go on. */
export default function Home() {
  const { user, role } = session();
  const own = useLoad(readOwn);
  const refresh = html`<${Button} icon="refresh" busy=${own.loading} onClick=${own.reload}>Refresh<//>`;
  return html`<${Page} title=${`Welcome, ${user}`} actions=${refresh}>
    <${Loaded} from=${own}>${({ quota, record }) => html`
      <div class="columns">
        <${Quota} quota=${quota} plan=${record?.plan} />
        <${Section} title="Your workspace">
          <ul class="tiles">${COUNTS.map(([key, title, page]) => html`<li key=${key}>
            <${Tile} count=${record?.counts[key]} title=${title} icon=${page} href=${`/console/${page}`} />
          </li>`)}</ul>
          <${Facts} of=${{
            Plan: record && html`<${Badge} kind="accent">${record.plan}<//>`,
            Role: role === "user" ? null : html`<${Badge}>${role}<//>`,
            "User since": record && html`<${Time} at=${record.created_at} dated />`,
          }} />
        <//>
      </div>`}
    <//>
    <${Ways} />
  <//>`;
}

/** Read the user's quota and record; once the quota is used up, the refusal tells of the quota alone. */
async function readOwn() {
  try {
    const [record] = (await command("US_Read")).profile;
    return { quota: record.quota, record };
  } catch (error) {
    if (error.code !== USED_UP || error.quota === null) throw error;
    return { quota: error.quota, record: null };
  }
}

function Tile({ count, title, icon, href }) {
  const content = html`<${Icon} name=${icon} /><span class="tile-count">${count === undefined ? "–" : number(count)}</span><span class="tile-title">${title}</span>`;
  return has(href) ? html`<${Link} class="tile" href=${href}>${content}<//>` : html`<div class="tile">${content}</div>`;
}

function Ways() {
  const ways = WAYS.filter(([href]) => has(href));
  if (ways.length === 0) return null;
  return html`<${Section} title="Next steps">
    <ul class="ways">${ways.map(([href, icon, title, text]) => html`<li key=${href}>
      <${Link} class="way" href=${href}><${Icon} name=${icon} /><span><strong>${title}</strong><span class="quiet">${text}</span></span><//>
    </li>`)}</ul>
  <//>`;
}

/** Today's quota as a ring, with the same as words beside it. */
function Quota({ quota, plan }) {
  const { limit, used, remaining, resets_at: resetsAt } = quota;
  const share = limit ? Math.min(used / limit, 1) : 0;
  const level = share >= 1 ? "bad" : share >= 0.8 ? "warning" : "good";
  return html`<${Section} title="Today's quota">
    <div class="quota">
      <${Ring} share=${share} level=${level} limited=${Boolean(limit)} used=${used} />
      <div class="quota-words">
        <p class="quota-main"><strong>${limit ? number(remaining) : number(used)}</strong> ${limit ? (remaining === 1 ? "request left" : "requests left") : (used === 1 ? "request so far" : "requests so far")}</p>
        <p class="quiet">${limit
          ? html`${number(used)} of ${number(limit)} used${plan && ` on plan ${plan}`}.`
          : html`Plan ${plan} has no limit.`}</p>
        <p class="quiet">The count starts again at 00:00 UTC, in ${hoursTo(resetsAt)}.</p>
        ${level === "warning" && html`<p><${Badge} kind="warning">${Math.round(share * 100)} % used<//></p>`}
        ${level === "bad" && html`<p><${Badge} kind="bad">Used up: requests are refused until then<//></p>`}
      </div>
    </div>
  <//>`;
}

function Ring({ share, level, limited, used }) {
  const percent = Math.round(share * 100);
  const label = limited ? `${percent} % of today's quota is used` : `${plural(used, "request")} today, without a limit`;
  return html`<svg class=${`ring ${level}`} viewBox="0 0 120 120" role="img" aria-label=${label}>
    <circle class="ring-track" cx="60" cy="60" r="50" pathLength="100" />
    <circle class="ring-share" cx="60" cy="60" r="50" pathLength="100" stroke-dasharray=${`${share * 100} 100`} />
    <text x="60" y="60" text-anchor="middle" dominant-baseline="central">${limited ? `${percent} %` : "∞"}</text>
  </svg>`;
}

function hoursTo(iso) {
  const minutes = Math.max(0, Math.ceil((Date.parse(iso) - Date.now()) / 60_000));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
