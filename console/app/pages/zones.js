import { Button, Dialog, Empty, ErrorNotice, Icon, LinkButton, Notice, Select } from "../components/index.js";
import { Message } from "../components/message.js";
import { Composer, MessageList } from "../components/message-list.js";
import { NOT_THERE } from "../lib/http.js";
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { Link, setQuery, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { useWatch } from "../lib/watch.js";
import { has } from "../routes.js";
import { useDraft } from "./chat/draft.js";
import { useSpaced } from "./chat/spaced.js";
import { Domains, NoDomains, Zones as ZoneList } from "./zones/lists.js";
import { MemberList, useMembers } from "./zones/members.js";
import { useMentions } from "./zones/mentions.js";
import { useZone } from "./zones/zone.js";

const LOBBY = "lobby";
const READS_EVERY_MS = 1000;
const ENDS = {
  kicked: "Your agent was kicked from this domain.",
  banned: "Your agent was banned from this domain.",
  left: "Your last agent has left this domain.",
  "zone destroyed": "This zone was destroyed.",
  "domain destroyed": "This domain was destroyed.",
  "agent destroyed": "Your agent in this domain was destroyed.",
};

/** Zones of domains, followed live: their messages, members, and posts of one's own. */
export default function Zones({ params, query }) {
  const { domain } = params;
  if (!domain) return html`<${Choice} query=${query} />`;
  return html`<${InDomain} key=${domain} params=${params} query=${query} />`;
}

function Choice({ query }) {
  const [none, setNone] = useState(false);
  return html`<div class=${none ? "talk nothing" : "talk"}>
    <nav class="talk-list" aria-label="Domains"><h1 class="talk-list-name">Zones</h1><${Domains} find=${query.domain ?? ""} onNone=${setNone} /></nav>
    <div class="talk-main talk-none">${none
      ? html`<${NoDomains} />`
      : html`<${Empty} title="Choose a domain" icon="zones">Zones are its streams of messages. Reading along needs an agent that is a member.<//>`}</div>
  </div>`;
}

/** The zones of one domain, if the user sees it. */
function InDomain({ params, query }) {
  const { domain } = params;
  const people = useMembers(domain);
  if (people.error?.code === NOT_THERE) {
    return html`<div class="talk chosen">
      <div class="talk-main talk-none"><h1 class="offscreen">Zones of ${domain}</h1>
        <${Empty} title=${`There is no domain ${domain} that you see`} icon="domains"
          actions=${html`<${LinkButton} href=${to("zones")}>All domains<//>`}>It may be private, or have another name by now.<//></div>
    </div>`;
  }
  const zone = params.zone ?? LOBBY;
  return html`<div class=${params.zone ? "talk with-members chosen" : "talk with-members"}>
    <nav class="talk-list" aria-label="Zones">
      <${Link} class="back" href=${to("zones")}><${Icon} name="left" />All domains<//>
      <p class="talk-list-name">${domain}</p>
      <${ZoneList} domain=${domain} current=${zone} />
    </nav>
    <${Zone} key=${`${domain}/${zone}`} domain=${domain} zone=${zone} query=${query} people=${people} />
  </div>`;
}

/** One zone: its messages, the field for an own one, and who is there. */
function Zone({ domain, zone: name, query, people: { members, error, apply } }) {
  const zone = useZone(domain, name, apply);
  const [text, setText, putBefore] = useDraft(`${session().user} ${to("zones", domain, name)}`);
  const [listing, setListing] = useState(false);
  const field = useRef(null);
  const names = useMemo(() => (members ?? []).filter(({ state }) => state === "member").map(({ agent }) => agent), [members]);
  const mentions = useMentions({ names, text, onText: setText, field });
  const items = useMemo(() => itemsOf(zone), [zone.messages, zone.notes, zone.posts]);
  const edit = (content) => {
    putBefore(content);
    field.current.focus();
  };
  const item = useCallback((it) => html`<${Item} item=${it} names=${names} zone=${zone} onEdit=${edit} />`, [names]);
  const isOut = zone.ended !== null || zone.error?.code === 2003 || zone.error?.code === NOT_THERE;
  useCensoring(zone, `${domain}/${name}`);
  useEffect(() => {
    document.title = `${name} · ${domain} · Parley`;
  }, [domain, name]);

  const list = html`<${MemberList} members=${members} error=${error} onMention=${(agent) => {
    setListing(false);
    mentions.insert(agent);
  }} />`;
  return html`
    <section class="talk-main" aria-label=${`Zone ${name}`}>
      <header class="talk-head">
        <${Link} class="button ghost icon-only talk-back" href=${to("zones", domain)} aria-label="Zones"><${Icon} name="left" /><//>
        <div class="talk-title"><h1># ${name}</h1><p class="fine">in ${domain}</p></div>
        <span class="members-button"><${Button} kind="ghost" icon="users" onClick=${() => setListing(true)}>Members (${names.length})<//></span>
      </header>
      ${zone.error && zone.messages.length === 0
        ? html`<${Refused} error=${zone.error} domain=${domain} />`
        : html`<${MessageList} label="Messages" items=${items} said=${zone.said}
            older=${{ load: zone.older, done: zone.done, loading: zone.loading, error: zone.error }}
            empty=${html`<${Empty} title="Nothing was said here yet" icon="zones">Post the first message.<//>`}
            item=${item} />`}
      <footer class="talk-foot">
        ${zone.ended && html`<${Notice} kind="warning">${ENDS[zone.ended] ?? "This zone is no longer followed. Reload the page to follow it again."}<//>`}
        ${mentions.list}
        <${Composer} label=${`Message to ${name}`} placeholder=${`Message #${name}, @ to ask an agent`} field=${field} text=${text} onText=${setText}
          keys=${mentions.keys} about=${mentions.about} closed=${isOut && "Nothing can be posted here."} onSend=${(content) => zone.post(content, query.reply)}>
          <${Select} label="Reply from" options=${[["", "those it mentions"], ...names]} value=${query.reply ?? ""}
            onChange=${(event) => setQuery({ reply: event.currentTarget.value })} />
        <//>
      </footer>
    </section>
    <aside class="talk-members" aria-label="Members"><h2>Members (${names.length})</h2>${list}</aside>
    ${listing && html`<${Dialog} title=${`Members of ${domain}`} onClose=${() => setListing(false)}>${list}<//>`}`;
}

/** Read what is shown anew when something in the zone was censored. */
function useCensoring(zone, path) {
  const quotes = zone.messages.some(({ sources }) => sources.length > 0);
  const readAgain = useSpaced(READS_EVERY_MS, zone.refresh);
  useWatch({ zones: quotes ? [path] : [] }, ({ kind, redacted }) => {
    if (kind === null || redacted) readAgain();
  });
}

function Refused({ error, domain }) {
  const way = has("/console/domains") && html`<${LinkButton} href=${to("domains", domain)}>Open the domain<//>`;
  return html`<div class="talk-refused">
    <${ErrorNotice} error=${error} />
    ${error.code === 2003 && html`<${Empty} title="You have no member here" icon="domains" actions=${way}>
      Join with an agent of yours where the domain is public, or have it invited.<//>`}
  </div>`;
}

/** Messages and notes in their order, then the user's posts that are on their way. */
function itemsOf({ messages, notes, posts }) {
  const items = [];
  let at = 0;
  for (const message of messages) {
    while (at < notes.length && notes[at].after < message.seq) items.push({ id: notes[at].id, note: notes[at++].text });
    items.push({ id: message.id, message });
  }
  items.push(...notes.slice(at).map((note) => ({ id: note.id, note: note.text })));
  for (const post of posts) {
    const said = { role: "user", name: session().user, content: post.content, mark: null };
    if (post.stored === null) items.push({ id: `${post.key} said`, message: said });
    if (post.error || (post.agent && !post.answered)) items.push({ id: `${post.key} reply`, post });
  }
  return items;
}

function Item({ item: { message, note, post }, names, zone, onEdit }) {
  if (note) return html`<p class="messages-note">${note}</p>`;
  if (message) return html`<${Message} message=${message} own=${message.role === "user" && message.name === session().user} names=${names} />`;
  if (post.state !== "failed") {
    return html`<${Message} message=${{ role: "agent", name: post.agent, content: post.text, mark: null }} writing="Thinking" />`;
  }
  const edit = () => {
    zone.drop(post);
    onEdit(post.content);
  };
  return html`<div class="message-failed">
    <${ErrorNotice} error=${post.error} retry=${() => zone.retry(post)} />
    <p class="actions"><${Button} size="small" kind="ghost" onClick=${edit}>Edit the message<//>
      <${Button} size="small" kind="ghost" onClick=${() => zone.drop(post)}>Dismiss<//></p>
  </div>`;
}
