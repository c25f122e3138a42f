import { Button, Empty, ErrorNotice, Icon, Loaded, Notice } from "../components/index.js";
import { Message } from "../components/message.js";
import { Composer, MessageList } from "../components/message-list.js";
import { usePages } from "../components/table.js";
import { command } from "../lib/api.js";
import { NOT_THERE } from "../lib/http.js";
import { useLoad } from "../lib/load.js";
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { Link, navigate, setQuery, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { useWatch } from "../lib/watch.js";
import { Agents, NoAgents, State, Unavailable } from "./chat/agents.js";
import { useConversation } from "./chat/conversation.js";
import { ConversationMenu, Conversations, isCurrent, titleOf } from "./chat/conversations.js";
import { useDraft } from "./chat/draft.js";
import { useSpaced } from "./chat/spaced.js";

const READS_EVERY_MS = 3000;

/** Private conversations with agents: replies arrive as they are written, with their sources. */
export default function Chat({ params, query }) {
  if (params.agent) return html`<${WithAgent} key=${params.agent} params=${params} query=${query} />`;
  return html`<${Choice} query=${query} />`;
}

function Choice({ query }) {
  const [none, setNone] = useState(false);
  return html`<div class=${none ? "talk nothing" : "talk"}>
    <nav class="talk-list" aria-label="Agents"><h1 class="talk-list-name">Chat</h1><${Agents} find=${query.agent ?? ""} onNone=${setNone} /></nav>
    <div class="talk-main talk-none">${none
      ? html`<${NoAgents} />`
      : html`<${Empty} title="Choose an agent" icon="chat">Your own agents and those of your roster are in the list.<//>`}</div>
  </div>`;
}

function WithAgent({ params: { agent: name, conversation }, query }) {
  const agent = useLoad(() => readAgent(name), [name]);
  const pages = usePages(async (cursor) => {
    const answer = await command("CV_List", { target: { agent: name }, page: { limit: 50, cursor: cursor ?? undefined } });
    return { rows: answer.profile, next: answer.header.next };
  }, [name]);
  const current = conversation ?? "default";
  useEffect(() => {
    document.title = `${name} · Chat · Parley`;
  }, [name]);
  return html`<div class=${conversation ? "talk chosen" : "talk"}>
    <nav class="talk-list" aria-label="Conversations">
      <${Link} class="back" href=${to("chat")}><${Icon} name="left" />All agents<//>
      <p class="talk-list-name">${name} ${agent.data?.record && html`<${State} state=${agent.data.record.state} />`}</p>
      <${Conversations} agent=${name} pages=${pages} current=${current} find=${query.find ?? ""} gone=${agent.data?.gone}
        onFind=${(find) => setQuery({ find })} />
    </nav>
    ${agent.data === null && html`<h1 class="offscreen">Chat with ${name}</h1>`}
    <${Loaded} from=${agent}>${(data) => html`<${Talk} key=${current} ...${{ name, agent, data, current, pages, seq: query.seq }} />`}<//>
  </div>`;
}

/** Read an agent; conversations with one that is gone stay readable. */
async function readAgent(name) {
  try {
    return { record: (await command("AP_Read", { target: { agent: name } })).profile[0], gone: false };
  } catch (error) {
    if (error.code !== NOT_THERE) throw error;
    return { record: null, gone: true };
  }
}

/** One conversation: its messages, the replies on their way, and the field for the next message. */
function Talk({ name, agent, data, current, pages, seq }) {
  const target = current === "default" ? { agent: name, conversation: "default" } : { conversation: current };
  const talk = useConversation(target, (reply) => {
    noteChat(pages, reply);
    if (data.record?.state !== "online") agent.reload();
  });
  // the link of another may name a wrong agent
  const place = current === "default" ? to("chat", name.toLowerCase()) : current;
  const [text, setText, putBefore] = useDraft(`${session().user} ${place}`);
  const field = useRef(null);
  const listed = pages.rows.find((conversation) => isCurrent(conversation, current));
  const record = useRecord(listed, current);
  useEffect(() => {
    // or its agent has another name by now
    const isOfAnother = record && record.agent.toLowerCase() !== name.toLowerCase();
    if (isOfAnother) navigate(to("chat", record.agent, current) + location.search, { replace: true });
  }, [record?.agent]);
  const items = useMemo(() => itemsOf(talk, name), [talk.messages, talk.runs]);
  const edit = (content) => {
    putBefore(content);
    field.current.focus();
  };
  // its acts stay the same
  const item = useCallback((it) => html`<${Item} item=${it} talk=${talk} onEdit=${edit} />`, []);
  const working = talk.runs.filter(({ state }) => state === "working");
  const wanted = useWanted(talk, Number(seq ?? 0));
  const isMissing = talk.error?.code === NOT_THERE && talk.messages.length === 0;
  useFocusAgain(field, working.length);
  const readAgain = useSpaced(READS_EVERY_MS, talk.refresh);
  useWatch({ banks: banksOf(talk.messages) }, readAgain);

  return html`<section class="talk-main" aria-label=${`Chat with ${name}`}>
    <header class="talk-head">
      <${Link} class="button ghost icon-only talk-back" href=${to("chat", name)} aria-label="Conversations"><${Icon} name="left" /><//>
      <div class="talk-title"><h1>${record ? titleOf(record) : current === "default" ? "Default conversation" : "Conversation"}</h1><p class="fine">with ${name}</p></div>
      ${record && html`<${ConversationMenu} conversation=${record} onChange=${pages.refresh} />`}
    </header>
    <${MessageList} label="Messages" items=${items} said=${talk.said} to=${wanted}
      older=${{ load: talk.older, done: talk.done, loading: talk.loading, error: talk.error }}
      empty=${data.gone
        ? html`<${Empty} title=${`There is no agent ${name} that you see`} icon="agents">It may be private, or have another name by now.<//>`
        : html`<${Empty} title=${`Say something to ${name}`} icon="chat">${data.record?.description}<//>`}
      item=${item} />
    <footer class="talk-foot">
      ${data.gone && talk.messages.length > 0 && html`<${Notice} kind="warning">The agent ${name} is gone, or no longer visible to you. This conversation stays readable.<//>`}
      ${data.record && html`<${Unavailable} agent=${data.record} onChange=${agent.reload} />`}
      <${Composer} label=${`Message to ${name}`} placeholder=${`Message ${name}`} field=${field} text=${text} onText=${setText}
        closed=${(data.gone || isMissing) && "Nothing can be sent here."} onSend=${talk.send}>
        ${working.length > 0 && html`<${Button} size="small" icon="stop" busy=${working[0].cancelling}
          onClick=${() => talk.cancel(working[0])}>Stop<//>`}
      <//>
    </footer>
  </section>`;
}

/** Move a conversation to the head of the list, without reading the list again where it is there already. */
function noteChat(pages, reply) {
  const known = reply && pages.rows.find(({ id }) => id === reply.conversation);
  if (!known) return void pages.refresh();
  const now = { ...known, messages: Math.max(known.messages, reply.seq), last_seq: reply.seq, updated_at: reply.at };
  return pages.setRows([now, ...pages.rows.filter((row) => row !== known)]);
}

/** The banks that are quoted: when something in them is censored, what is shown is read again. */
const banksOf = (messages) =>
  [...new Set(messages.flatMap(({ sources }) => sources.map(({ bank }) => bank)).filter(Boolean))].sort();

/** The conversation's record: that of the list, else read by itself where the list hasn't got so far. */
function useRecord(listed, current) {
  const [read, setRead] = useState(null);
  useEffect(() => {
    if (listed || current === "default") return;
    command("CV_Read", { target: { conversation: current } }).then((answer) => setRead(answer.profile[0]), () => {});
  }, [current, Boolean(listed)]);
  return listed ?? read;
}

/** Load older messages until the one that the link names is there; return its id. */
function useWanted(talk, seq) {
  const first = talk.messages[0]?.seq ?? 0;
  useEffect(() => {
    if (seq > 0 && first > seq && !talk.loading && !talk.done) talk.older();
  }, [seq, first, talk.loading]);
  return seq > 0 ? (talk.messages.find((message) => message.seq === seq)?.id ?? null) : null;
}

/** Give the field the focus at first, and again when the Stop button goes away under it. */
function useFocusAgain(field, working) {
  const before = useRef(working);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus(); // a phone's keyboard would cover the page
  }, []);
  useLayoutEffect(() => {
    if (before.current > 0 && working === 0 && document.activeElement === document.body) field.current?.focus();
    before.current = working;
  }, [working]);
}

/** The stored messages, then for each run on its way the user's message, where it isn't stored yet, and the reply. */
function itemsOf({ messages, runs }, agent) {
  const stored = new Set(messages.map(({ id }) => id));
  const items = messages.map((message) => ({ id: message.id, message }));
  for (const run of runs) {
    const id = run.id === null ? run.key : `msg_${run.id.slice(4)}`;
    const said = { role: "user", name: session().user, content: run.content, mark: null };
    if (!stored.has(id)) items.push({ id: `${run.key} said`, message: said });
    items.push({ id: `${run.key} reply`, run, message: { role: "agent", name: agent, content: run.text, mark: null } });
  }
  return items;
}

function Item({ item: { message, run }, talk, onEdit }) {
  if (run?.state !== "failed") {
    const waiting = run && (run.cancelling ? "Stopping" : "Thinking");
    return html`<${Message} message=${message} own=${message.role === "user"} writing=${waiting} />`;
  }
  const edit = () => {
    talk.drop(run);
    onEdit(run.content);
  };
  return html`<div class="message-failed">
    ${message.content && html`<${Message} message=${message} />`}
    <${ErrorNotice} error=${run.error} retry=${() => talk.retry(run)} />
    <p class="actions"><${Button} size="small" kind="ghost" onClick=${edit}>Edit the message<//>
      <${Button} size="small" kind="ghost" onClick=${() => talk.drop(run)}>Dismiss<//></p>
  </div>`;
}
