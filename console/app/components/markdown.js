import "../../vendor/markdown-it/markdown-it.umd.min.js";
import { h, html, useRef } from "../lib/preact.js";
import { Code, mentionsIn, Outside } from "./text.js";

// A text beyond these is shown as it is: nobody writes so, and drawing it would stop the page.
const MAX_CHARS = 100_000;
const MAX_TOKENS = 20_000;
const MAX_LEVEL = 30; // the parser leaves out what is nested in over 100
const LONG_BLOCK = 4000;
const GROWN = 64;

const parser = globalThis.markdownit({ linkify: true, breaks: true });
parser.validateLink = (address) => /^(https?:\/\/|mailto:)/i.test(address);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false }).add("ftp:", null).add("//", null);

/** A text in Markdown, as CommonMark and tables say: HTML in it is text, an image a link, each line break is kept.
 *
 * While it is `writing`, the text grows at its end: only its last block is read anew. Mentions of `names` stand out.
 */
export function Markdown({ text, names, writing = false }) {
  const before = useRef(null);
  before.current = read(text.replace(/\r\n?/g, "\n"), names, writing ? before.current : null);
  const { blocks } = before.current;
  return blocks ? html`<div class="markdown">${blocks}</div>` : html`<div class="text">${text}</div>`;
}

/** Read a text after `before`, which was read of its beginning: {text, names, start of the last block, env, blocks}.
 *
 * `blocks` are the nodes of its outermost blocks, null where it is shown as it is.
 */
function read(text, names, before) {
  if (text.length > MAX_CHARS || before?.blocks === null) return { blocks: null };
  const goesOn = before !== null && before.names === names && text.startsWith(before.text);
  const { start, env, blocks: known } = goesOn ? before : { start: 0, env: {}, blocks: [] };
  const last = text.length - start;
  const grown = text.length - before?.text.length;
  if (goesOn && last > LONG_BLOCK && grown < last / GROWN) return before; // not at each word of a long block
  const rest = text.slice(start);
  const tokens = parser.parse(rest, env);
  const all = tokens.flatMap((token) => [token, ...(token.children ?? [])]);
  if (all.length > MAX_TOKENS || all.some(({ level }) => level > MAX_LEVEL)) return { blocks: null };
  const blocks = [...known.slice(0, -1), ...nodesOf(tokens, names)];
  const line = tokens.findLast(({ level, nesting }) => level === 0 && nesting >= 0)?.map[0] ?? 0;
  return { text, names, start: start + offsetOf(rest, line), env, blocks };
}

/** Return where a line of a text begins. */
function offsetOf(text, line) {
  let at = 0;
  for (let count = 0; count < line; count += 1) at = text.indexOf("\n", at) + 1;
  return at;
}

/** Make nodes of the parser's tokens, in which opening and closing ones enclose others. */
function nodesOf(tokens, names) {
  const open = [{ nodes: [] }];
  for (const token of tokens) {
    if (token.nesting > 0) open.push({ token, nodes: [] });
    else if (token.nesting < 0) {
      const { token: opening, nodes } = open.pop();
      open.at(-1).nodes.push(...enclosed(opening, nodes));
    } else {
      const nodes = token.type === "inline" ? nodesOf(token.children, names) : [single(token, names, open)];
      open.at(-1).nodes.push(...nodes);
    }
  }
  return open[0].nodes;
}

function enclosed(token, nodes) {
  const { type, tag, hidden, attrs } = token;
  if (hidden) return nodes; // the paragraphs of a list without blank lines
  if (type === "link_open") return [html`<${Outside} href=${token.attrGet("href")}>${nodes}<//>`];
  // all are h2, because a page's levels are in order
  if (type === "heading_open") return [html`<h2 class=${`level-${tag[1]}`}>${nodes}</h2>`];
  if (type === "table_open") {
    return [html`<div class="markdown-table" role="region" aria-label="Table" tabindex="0"><table>${nodes}</table></div>`];
  }
  if (type === "ordered_list_open") return [html`<ol start=${token.attrGet("start") ?? undefined}>${nodes}</ol>`];
  return [h(tag, { class: attrs?.[0][1].replace("text-align:", "") }, nodes)]; // only cells of tables have attributes
}

function single({ type, tag, content, info, attrs }, names, open) {
  if (type === "text") return mentionsIn(content, names);
  if (type === "fence" || type === "code_block") {
    return html`<${Code} text=${content.replace(/\n$/, "")} language=${info.trim().split(/\s/)[0]} />`;
  }
  if (type === "code_inline") return html`<code>${content}</code>`;
  if (type !== "image") return h(tag); // a line, a break
  const words = content || "image";
  const isInLink = open.some(({ token }) => token?.type === "link_open");
  return isInLink ? words : html`<${Outside} href=${attrs[0][1]}>${words}<//>`;
}
