import { asShown, Button, Dialog, Field, Form, NameField, TextArea, toast } from "../../components/index.js";
import { command, route } from "../../lib/api.js";
import { number, plural } from "../../lib/format.js";
import { wait } from "../../lib/http.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";

const PART = 2000;
const MAX_CHARS = 500_000;
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 4000;
const PLAIN = "text/plain";
const NAMES = { "text/markdown": "Markdown", "application/json": "JSON", "text/html": "HTML" };
const TYPES = { md: "text/markdown", markdown: "text/markdown", json: "application/json", html: "text/html", htm: "text/html" };

/** A dialog that loads a text or a text file into a bank; `memory` is one to replace. */
export function LoadMemory({ view, memory, onClose, onLoaded }) {
  const [name, setName] = useState(memory?.name ?? "");
  const [text, setText] = useState(memory?.text ?? "");
  const [media, setMedia] = useState(PLAIN); // as the chosen file's name tells
  const [fault, setFault] = useState(null);

  const take = async (event) => {
    const chosen = event.target.files[0];
    if (!chosen) return;
    const content = await chosen.text();
    const readable = !content.includes("\0") && !content.includes("\uFFFD");
    setFault(readable ? null : `${chosen.name} is no text in UTF-8.`);
    if (!readable) return;
    setText(content);
    setMedia(TYPES[chosen.name.split(".").at(-1).toLowerCase()] ?? PLAIN);
    if (name === "") setName(chosen.name);
  };
  const edit = (event) => {
    const now = event.target.value;
    if (media !== PLAIN && isReplaced(asShown(text), now)) setMedia(PLAIN);
    setText(now);
  };
  const loading = useRef(null);
  useEffect(() => () => loading.current?.abort(), []); // as Cancel does, too
  const submit = async ({ agent }) => {
    loading.current = new AbortController();
    const given = { name: memory?.name ?? name.trim(), text, media };
    const { signal } = loading.current;
    try {
      const loaded = await loadText(view.bank.name, agent, given, signal);
      toast(loaded === 1 ? `${given.name} was loaded.` : `${given.name} was loaded in ${plural(loaded, "part")}.`);
    } catch (error) {
      if (!signal.aborted) throw error;
      const isStopped = error.name === "AbortError"; // before the bank was asked
      return toast(isStopped ? "The load was stopped; the bank is as it was." : `${given.name} was not loaded: ${error.message}`);
    }
    if (!signal.aborted) onClose();
    return onLoaded();
  };
  return html`<${Dialog} title=${memory ? `Replace ${memory.name}` : "Load a memory"} onClose=${onClose} wide>
    <${Form} onSubmit=${submit} submit=${memory ? "Replace" : "Load"} label="Load a memory"
      actions=${html`<${Button} onClick=${onClose}>Cancel<//>`}>
      <${Field} label="Name" name="name" required maxlength="200" value=${name} readonly=${Boolean(memory)}
        hint=${!memory && "Up to 200 characters of any text. A memory of the same name is replaced."}
        onInput=${(event) => setName(event.target.value)} />
      <${TextArea} label="Text" name="text" required rows="8" maxlength=${MAX_CHARS} value=${text}
        onInput=${edit} ...${text.length > MAX_CHARS ? { error: tooLong(text) } : { hint: sizeOf(text, NAMES[media]) }} />
      <${Field} type="file" label="or a text file" name="file" accept=".txt,.md,.markdown,.json,.html,.htm,.csv,text/*" onChange=${take}
        error=${fault} hint="It may also be dropped anywhere here." />
      <${NameField} of="agents" own label="Author" name="agent" required first=${view.writer}
        hint="The agent of yours in whose name it is loaded." />
    <//>
  <//>`;
}

function sizeOf(text, format) {
  const size = text.length <= PART
    ? "Up to 2,000 characters make one memory; longer texts are split into parts."
    : `${number(text.length)} characters: it is split into parts of up to 2,000.`;
  return format ? `Read as ${format}. ${size}` : size;
}

/** Return whether a text was replaced rather than edited: what was pasted over a file is not of its type. */
function isReplaced(before, now) {
  const shorter = Math.min(before.length, now.length);
  let first = 0;
  while (first < shorter && before[first] === now[first]) first += 1;
  let last = 0;
  while (last < shorter - first && before.at(-1 - last) === now.at(-1 - last)) last += 1;
  return first + last <= shorter / 2;
}

const tooLong = (text) =>
  `${number(text.length)} characters: up to ${number(MAX_CHARS)} are loaded at once. Divide it into several files.`;

/** Load a text; a long one goes in as a document, which the gateway splits. Returns the number of memories.
 *
 * The signal stops it until the bank is asked to load: that is done whole, or not at all.
 */
async function loadText(bank, agent, { name, text, media }, signal) {
  const target = { bank, agent };
  if (text.length <= PART && media === PLAIN) {
    return (await command("MB_Load", { target, vx: { name }, content: text })).content.length;
  }
  await ingest(name, text, media, signal);
  return (await command("MB_Load", { target, vx: { name } })).content.length;
}

async function ingest(name, content, media, signal) {
  let document = await route("POST", "/api/documents", { body: { name, content, media_type: media }, signal });
  for (let ms = FIRST_WAIT_MS; document.status === "queued" || document.status === "processing"; ms = Math.min(2 * ms, LONGEST_WAIT_MS)) {
    await wait(ms, signal);
    document = await route("GET", `/api/documents/${document.id}`, { signal });
  }
  if (document.status === "failed") throw new Error(`The text could not be split: ${document.error}`);
}
