import { Badge, Button, Confirm, Empty, ErrorNotice, Loading, More, Notice, Select, TextFilter, usePages } from "../../components/index.js";
import { command } from "../../lib/api.js";
import { Time } from "../../lib/format.js";
import { NOT_THERE } from "../../lib/http.js";
import { html, useState } from "../../lib/preact.js";
import { Link, setQuery, to } from "../../lib/router.js";
import { LoadMemory } from "./load.js";
import { buttonOf, remove, warning } from "./removal.js";
import { includes } from "./rights.js";

const PAGE = 50;
const LARGEST_PAGE = 200;
const FOUND = ["5", "10", "20", "50"];
const LONG = 400;

/** The memories of a bank as one scrolls, those of a name, or those that answer a question best. */
export function Memories({ view, query, fresh, changed }) {
  const { q = "", n = "10", name = "" } = query;
  const { bank } = view;
  const pages = usePages((...asked) => load(bank.name, { q, n, name }, ...asked), [bank.id, q, n, name], fresh);
  const [asked, setAsked] = useState(null);
  const best = q ? Math.max(...pages.rows.map(({ score }) => score), 0) : 0;
  return html`
    <div class="filters searching" role="search" aria-label="Filters">
      <${TextFilter} type="search" label="Search the texts" name="q" onEnter placeholder="a question or words" />
      ${q && html`<${Select} label="Up to" options=${FOUND} value=${n} onChange=${(event) => setQuery({ n: event.target.value })} />`}
      ${!q && html`<${TextFilter} type="search" label="Name is" name="name" onEnter exact placeholder="a memory's whole name" />`}
    </div>
    ${pages.rows.length === 0 && html`<${Nothing} ...${{ pages, q, name }} />`}
    ${pages.rows.length > 0 && html`<ul class="memories" tabindex="-1"
      aria-label=${q ? "Found memories" : "Memories"}>
      ${pages.rows.map((memory) => html`<${Memory} key=${memory.id} ...${{ memory, view, best, ask: (act) => setAsked({ act, memory }) }} />`)}
    </ul>`}
    ${pages.rows.length > 0 && html`<${More} pages=${pages} />`}
    ${asked && html`<${Asked} ...${asked} view=${view} changed=${changed} onClose=${() => setAsked(null)} />`}`;
}

/** The dialog of an act with a memory; it stays, with what is typed in it, also when the memory leaves the list. */
function Asked({ act, memory, view, changed, onClose }) {
  if (act === "replace") return html`<${LoadMemory} view=${view} memory=${memory} onClose=${onClose} onLoaded=${changed} />`;
  const confirm = async () => {
    await remove(act, view.bank, { name: memory.name });
    changed();
  };
  return html`<${Confirm} title=${`${act === "censor" ? "Censor" : "Delete"} ${memory.name}?`} confirm=${buttonOf(act)} onConfirm=${confirm} onClose=${onClose}>
    <${Notice} kind="warning">${warning(act)}<//>
  <//>`;
}

async function load(bank, { q, n, name }, cursor, wanted = PAGE) {
  const target = { bank };
  if (q) return { rows: (await command("MB_Recall", { target, content: q, page: { limit: Number(n) } })).content, next: null };
  const vx = name ? { name } : undefined;
  const answer = await command("MB_Read", { target, vx, page: { limit: Math.min(Math.max(wanted, PAGE), LARGEST_PAGE), cursor: cursor ?? undefined } });
  return { rows: answer.content, next: answer.header.next };
}

function Nothing({ pages, q, name }) {
  if (pages.error && name && pages.error.code === NOT_THERE) return html`<${Empty} title="No memory of this name" icon="search" />`;
  if (pages.error) return html`<${ErrorNotice} error=${pages.error} retry=${pages.reload} />`;
  if (!pages.done) return html`<${Loading} />`;
  if (q) return html`<${Empty} title="Nothing found in this bank" icon="search">An agent would not find anything here, either.<//>`;
  return html`<${Empty} title="No memories yet" icon="banks">Load a text, and its agents recall it when they chat.<//>`;
}

function Memory({ memory, view, best, ask }) {
  const { name, text, author, censored, destroyed_agent: destroyed } = memory;
  const admin = includes(view.permission, "admin");
  const own = author !== null && view.mine.has(author);
  return html`<li class="memory">
    <div class="memory-head">
      <h2>${name}</h2>
      ${censored && html`<${Badge} kind="bad">censored<//>`}
      ${memory.score !== undefined && html`<${Score} of=${memory} best=${best} />`}
    </div>
    ${censored ? html`<p class="quiet">Its text was erased for good.</p>` : html`<${Text} of=${text} />`}
    <div class="memory-foot">
      <span class="fine">${author ? html`by <${Link} href=${to("agents", author)}>${author}<//>` : destroyed ? `by ${destroyed} (destroyed)` : "by a destroyed agent"},${" "}
        <${Time} at=${memory.updated_at} relative /></span>
      <span class="row-actions">
        ${includes(view.permission, "write") && !censored && html`<${Act} label="Replace" name=${name} onClick=${() => ask("replace")} />`}
        ${(admin || own) && !censored && html`<${Act} label="Censor" kind="danger" name=${name} onClick=${() => ask("censor")} />`}
        ${admin && html`<${Act} label="Delete" name=${name} onClick=${() => ask("delete")} />`}
      </span>
    </div>
  </li>`;
}

const Act = ({ label, name, kind = "plain", onClick }) =>
  html`<${Button} size="small" kind=${kind} aria-label=${`${label}: ${name}`} onClick=${onClick}>${label}<//>`;

function Score({ of: { score, answers }, best }) {
  return html`
    <${Badge} kind=${answers ? "good" : "neutral"}>${answers ? "answers" : "related"}<//>
    <span class="score" title="How well it fits, of the best found">
      <meter min="0" max=${best || 1} value=${score} aria-label="Score"></meter><span class="fine number">${score.toFixed(2)}</span>
    </span>`;
}

function Text({ of: text }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > LONG;
  return html`<p class="prose">${long && !whole ? `${text.slice(0, LONG)} …` : text}</p>
    ${long && html`<${Button} kind="ghost" size="small" aria-expanded=${whole ? "true" : "false"} onClick=${() => setWhole(!whole)}>
      ${whole ? "Show less" : "Show all"}<//>`}`;
}
