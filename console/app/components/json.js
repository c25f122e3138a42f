import { html } from "../lib/preact.js";

const OPEN_DEPTH = 2;
const LONG = 100;

/** A JSON value as a tree that opens and closes; the first levels are open. */
export function Json({ value, depth = OPEN_DEPTH, label = "JSON" }) {
  return html`<div class="json" role="region" aria-label=${label} tabindex="0">
    <${Node} value=${value} depth=${depth} />
  </div>`;
}

function Node({ name, value, depth }) {
  const key = name === undefined ? null : html`<span class="json-key">${name}</span>: `;
  if (value === null || typeof value !== "object") return html`<div class="json-row">${key}<${Leaf} value=${value} /></div>`;
  const entries = Object.entries(value);
  const [opening, closing] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return html`<div class="json-row">${key}${opening}${closing}</div>`;
  const size = `${entries.length} ${Array.isArray(value) ? "items" : "members"}`;
  return html`<details class="json-node" open=${depth > 0}>
    <summary>${key}${opening} <span class="json-size">${entries.length === 1 ? size.slice(0, -1) : size}</span> ${closing}</summary>
    <div class="json-children">
      ${entries.slice(0, LONG).map(([at, member]) => html`<${Node} key=${at} name=${at} value=${member} depth=${depth - 1} />`)}
      ${entries.length > LONG && html`<p class="quiet">… ${entries.length - LONG} more</p>`}
    </div>
  </details>`;
}

function Leaf({ value }) {
  const kind = value === null ? "null" : typeof value;
  return html`<span class=${`json-${kind}`}>${JSON.stringify(value)}</span>`;
}
