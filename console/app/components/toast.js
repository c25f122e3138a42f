import { html } from "../lib/preact.js";
import { createStore } from "../lib/store.js";

const SHOWN_MS = 4000;
const store = createStore(null);
let timer = null;

/** Say in a corner of the page, and to screen readers, that something was done. */
export function toast(text) {
  clearTimeout(timer);
  store.set(text);
  timer = setTimeout(() => store.set(null), SHOWN_MS);
}

/** The place of toasts, once in the layout. */
export function Toasts() {
  const text = store.use();
  return html`<div class="toasts" role="status" aria-live="polite">${text && html`<p class="toast">${text}</p>`}</div>`;
}
