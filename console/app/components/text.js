import { html } from "../lib/preact.js";
import { CopyButton } from "./button.js";

const MENTION = /(?<![\p{L}\p{N}_/])(@[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9])/u;
const FENCE = /^```([^\n]*)\n([\s\S]*?)(?:\n```[ \t]*$|$(?![\s\S]))/m;
const INLINE = /(`[^`\n]+`|https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/;

/** A text of somebody else: blocks between ``` as code, `words` as code, addresses as links; all else as it is.
 *
 * Mentions of `names` stand out.
 */
export function RichText({ text, names }) {
  return blocksOf(text).map(([kind, block, language], at) => (kind === "code"
    ? html`<${Code} key=${at} text=${block} language=${language} />`
    : html`<div class="text" key=${at}><${Inline} text=${block} names=${names} /></div>`));
}

/** A block of code with its language, if that is told, and a button that copies it. */
export function Code({ text, language }) {
  return html`<div class="code">
    <p class="code-head"><span class="fine">${language}</span><${CopyButton} text=${text} kind="ghost" /></p>
    <pre tabindex="0"><code>${text}</code></pre>
  </div>`;
}

/** One line of text, with `words` as code and addresses as links. */
export function Inline({ text, names }) {
  return text.split(INLINE).map((part, at) => {
    if (at % 2 === 0) return mentionsIn(part, names);
    if (part.startsWith("`")) return html`<code key=${at}>${part.slice(1, -1)}</code>`;
    return html`<${Outside} key=${at} href=${part}>${part}<//>`;
  });
}

/** A link that somebody else wrote: it opens a window of its own, and tells the other side nothing. */
export function Outside({ href, children }) {
  return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${children}</a>`;
}

/** A text in which mentions of `names` stand out. */
export function mentionsIn(text, names = []) {
  if (names.length === 0) return text;
  const known = new Set(names.map((name) => name.toLowerCase()));
  return text.split(MENTION).map((part, at) =>
    at % 2 === 1 && known.has(part.slice(1).toLowerCase()) ? html`<span key=${at} class="mention">${part}</span>` : part);
}

function blocksOf(text) {
  const blocks = [];
  let rest = text;
  for (let found = FENCE.exec(rest); found !== null; found = FENCE.exec(rest)) {
    const before = rest.slice(0, found.index).replace(/\n$/, "");
    if (before) blocks.push(["text", before]);
    blocks.push(["code", found[2], found[1].trim()]);
    rest = rest.slice(found.index + found[0].length).replace(/^\n/, "");
  }
  if (rest || blocks.length === 0) blocks.push(["text", rest]);
  return blocks;
}
