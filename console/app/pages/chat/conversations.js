import { Badge, Button, Confirm, Dialog, Empty, ErrorNotice, Field, Form, Loaded, Loading, Menu, MenuItem, More, toast } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { plural, Time } from "../../lib/format.js";
import { NOT_THERE } from "../../lib/http.js";
import { useAction, useLoad, useSettled } from "../../lib/load.js";
import { html, useState } from "../../lib/preact.js";
import { Link, navigate, to } from "../../lib/router.js";

/** Return how a conversation is called. */
export const titleOf = (conversation) =>
  conversation.title ?? (conversation.default ? "Default conversation" : "Untitled conversation");

/** The user's conversations with an agent: new ones, a search in all of them, the list. */
export function Conversations({ agent, pages, current, find, onFind, gone }) {
  const begin = useAction(async () => {
    const made = (await command("CV_Create", { target: { agent } })).profile[0];
    pages.refresh();
    navigate(to("chat", agent, made.id));
  });
  const isTold = gone && pages.error?.code === NOT_THERE; // beside the list
  const hasDefault = pages.rows.some((conversation) => conversation.default);
  return html`
    <div class="talk-list-head">
      ${!gone && html`<${Button} icon="plus" busy=${begin.busy} onClick=${begin.run}>New conversation<//>`}
      <${ErrorNotice} error=${begin.error} />
      <${Field} label="Search in conversations" hideLabel type="search" placeholder="Search in conversations" value=${find}
        maxlength="200" onInput=${(event) => onFind(event.currentTarget.value)} />
    </div>
    ${find.trim() ? html`<${Found} agent=${agent} find=${find} />` : html`<ul>
      ${!hasDefault && pages.done && !gone && html`<li><${Link} href=${to("chat", agent, "default")}
        aria-current=${current === "default" ? "page" : undefined}>Default conversation<span class="fine">Not begun yet</span><//></li>`}
      ${pages.rows.map((conversation) => html`<li key=${conversation.id}>
        <${Link} href=${to("chat", agent, conversation.id)} aria-current=${isCurrent(conversation, current) ? "page" : undefined}>
          <span class="talk-list-title talk-list-text" title=${titleOf(conversation)}>${titleOf(conversation)}</span>
          ${conversation.default && conversation.title && html`<span><${Badge}>default<//></span>`}
          <span class="fine">${plural(conversation.messages, "message")} · <${Time} at=${conversation.updated_at} relative /></span>
        <//>
      </li>`)}
    </ul>
    ${pages.rows.length === 0 && pages.loading ? html`<${Loading} />` : !isTold && html`<${More} pages=${pages} />`}`}`;
}

/** Return whether a conversation is the one that the link names. */
export const isCurrent = (conversation, current) =>
  conversation.id === current || (conversation.default && current === "default");

/** Messages with the words of a search; each leads to its place. */
function Found({ agent, find }) {
  const content = useSettled(find.trim(), 300);
  const found = useLoad(() => command("CV_Search", { content, target: { agent }, page: { limit: 30 } }), [content, agent]);
  return html`<${Loaded} from=${found}>${(answer) => answer.content.length === 0
    ? html`<${Empty} title="Nothing found">No message has these words, or other forms of them.<//>`
    : html`<ul aria-label="Messages found">${answer.content.map((message) => html`<li key=${message.id}>
        <${Link} href=${`${to("chat", agent, message.conversation)}?seq=${message.seq}&find=${encodeURIComponent(find)}`}>
          <span class="fine">${message.name} · <${Time} at=${message.at} /></span>
          <span class="talk-list-text">${message.content}</span>
        <//>
      </li>`)}</ul>`}<//>`;
}

/** What can be done with a conversation: a title, a copy, its end. */
export function ConversationMenu({ conversation, onChange }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const target = { conversation: conversation.id };
  const rename = async ({ title }) => {
    await command("CV_Update", { target, vx: { name: title.trim() } });
    close();
    onChange();
  };
  const fork = async () => {
    try {
      const made = (await command("CV_Fork", { target })).profile[0];
      onChange();
      navigate(to("chat", made.agent, made.id));
      toast("The conversation was copied. You are in the copy.");
    } catch (error) {
      toast(error.note ?? error.message);
    }
  };
  const destroy = async () => {
    await command("CV_Destroy", { target });
    onChange();
    navigate(to("chat", conversation.agent));
    toast("The conversation was destroyed.");
  };
  return html`<${Menu} label="More on this conversation" button="More">
      <${MenuItem} onSelect=${() => setOpen("rename")}>Rename<//>
      <${MenuItem} onSelect=${fork}>Copy into a new conversation<//>
      <${MenuItem} onSelect=${() => setOpen("destroy")}>Destroy<//>
    <//>
    ${open === "rename" && html`<${Dialog} title="Rename the conversation" onClose=${close}>
      <${Form} onSubmit=${rename} submit="Rename" label="Rename" actions=${html`<${Button} onClick=${close}>Cancel<//>`}>
        <${Field} label="Title" name="title" required maxlength="200" value=${conversation.title ?? ""} />
      <//>
    <//>`}
    ${open === "destroy" && html`<${Confirm} title="Destroy this conversation?" confirm="Destroy" onConfirm=${destroy} onClose=${close}>
      ${plural(conversation.messages, "message")} of “${titleOf(conversation)}” will be erased for good. Copies of it stay.
    <//>`}`;
}
