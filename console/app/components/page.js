import { html, useEffect } from "../lib/preact.js";
import { Link } from "../lib/router.js";
import { Icon } from "./icons.js";

/** A page: its heading and window title, what leads back (`back`: {href, label}), actions beside the heading.
 *
 * `part` is what the window's title names before the heading.
 */
export function Page({ title, part, intro, back, actions, wide = false, children }) {
  useEffect(() => {
    document.title = [part, title, "Parley"].filter(Boolean).join(" · ");
  }, [part, title]);
  return html`<div class=${wide ? "page wide" : "page"}>
    <header class="page-head">
      <div class="page-title">
        ${back && html`<${Link} class="back" href=${back.href}><${Icon} name="left" />${back.label}<//>`}
        <h1>${title}</h1>
        ${intro && html`<p class="quiet">${intro}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  </div>`;
}

/** A part of a page, with a heading of the second level. */
export function Section({ title, intro, actions, children }) {
  return html`<section class="section" aria-label=${title}>
    <header class="section-head">
      <div><h2>${title}</h2>${intro && html`<p class="quiet">${intro}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  </section>`;
}

/** Facts of a thing, {label: value}; rows whose value is null are left out. */
export function Facts({ of }) {
  const rows = Object.entries(of).filter(([, value]) => value !== null && value !== undefined);
  return html`<dl class="facts">
    ${rows.map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** A list beside what is chosen from it. On a phone it shows one of them: the list while nothing is `chosen`. */
export function Split({ label, list, chosen = false, children }) {
  return html`<div class=${chosen ? "split chosen" : "split"}>
    <nav class="split-list" aria-label=${label}>${list}</nav>
    <div class="split-main">${children}</div>
  </div>`;
}
