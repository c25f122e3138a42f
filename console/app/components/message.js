import { connection } from "../lib/connection.js";
import { Time } from "../lib/format.js";
import { html, useMemo } from "../lib/preact.js";
import { Link, to } from "../lib/router.js";
import { has } from "../routes.js";
import { Markdown } from "./markdown.js";
import { Badge } from "./notice.js";
import { RichText } from "./text.js";

const MARKS = {
  cancelled: ["warning", "stopped", "It was stopped before its end."],
  imported: ["neutral", "imported", "It comes from another client's history."],
};

/** A message with its author, time, mark and sources; `writing` shows that its text is still arriving;
 * `@name` of `names` stands out. An agent's text is Markdown, a user's stands as it was typed.
 */
export function Message({ message, own, writing = false, names }) {
  // Long lists are drawn anew with each piece of a reply, so what has not changed is not even compared.
  return useMemo(() => draw(message, own, writing, names), [message, own, writing, names]);
}

function draw(message, own, writing, names) {
  const { role, name, at, content, mark, destroyed_agent: destroyed, sources = [] } = message;
  const [kind, word, meaning] = MARKS[mark] ?? [];
  return html`<article class=${`message ${own ? "own" : role}`} aria-label=${`${name}${at ? "" : ", now"}`} aria-busy=${writing ? "true" : undefined}>
    <span class="avatar" aria-hidden="true">${name.slice(0, 1).toUpperCase()}</span>
    <div class="message-main">
      <header>
        <strong>${name}</strong>${role === "agent" && html`<${Badge} kind="accent">agent<//>`}
        ${at && html`<span class="fine"><${Time} at=${at} /></span>`}
        ${mark && html`<span title=${meaning}><${Badge} kind=${kind ?? "neutral"}>${word ?? mark}<//></span>`}
        ${destroyed && html`<span title="The agent that said it has been destroyed since."><${Badge}>destroyed<//></span>`}
      </header>
      <div class="message-text">${content === "" && writing
        ? html`<${Waiting} text=${writing} />`
        : html`<${Content} message=${message} writing=${Boolean(writing)} names=${names} />`}${content !== "" && writing && html`<span class="caret" aria-hidden="true"></span>`}</div>
      <${Sources} sources=${sources} />
    </div>
  </article>`;
}

/** What stands in the place of a text that has not begun; without a connection, `text` tells nothing true. */
function Waiting({ text }) {
  const isLost = connection.useLost();
  return html`<p class="writing"><span class="spinner" aria-hidden="true"></span>${isLost ? "Waiting for the connection" : text}</p>`;
}

function Content({ message: { role, content, sources = [] }, writing, names }) {
  // quotes stand as they were said
  const isOfQuotes = sources.length > 0 && sources.every(({ quote }) => content.includes(`“${quote}”`));
  if (role !== "agent" || isOfQuotes) return html`<${RichText} text=${content} names=${names} />`;
  return html`<${Markdown} text=${content} names=${names} writing=${writing} />`;
}

/** What a reply was drawn from: the bank or the conversation, and the words. */
function Sources({ sources }) {
  if (sources.length === 0) return null;
  return html`<details class="sources" open>
    <summary>${sources.length === 1 ? "1 source" : `${sources.length} sources`}</summary>
    <ol>${sources.map((source, at) => html`<li key=${at}>
      <span class="source-name"><${Origin} source=${source} /></span>
      <q class=${source.quote === "[censored]" ? "quiet" : undefined}>${source.quote}</q>
    </li>`)}</ol>
  </details>`;
}

function Origin({ source }) {
  const { bank, name, conversation, profile } = source;
  if (bank) {
    const label = html`${bank}${name && html`<span class="quiet"> / ${name}</span>`}`;
    return has("/console/banks") ? html`<${Link} href=${to("banks", bank)}>${label}<//>` : label;
  }
  if (conversation) return "Earlier in this conversation";
  return profile ? `Profile of ${profile}` : "Source";
}
