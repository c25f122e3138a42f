import { html, useEffect, useId, useRef, useState } from "../lib/preact.js";

/** A button that opens a short list of actions; arrow keys move in it, Escape closes it and gives the focus back. */
export function Menu({ label, button, class: name = "", align = "end", children }) {
  const [open, setOpen] = useState(false);
  const root = useRef(null);
  const id = useId();
  const items = () => [...root.current.querySelectorAll('[role^="menuitem"]')];
  const close = (focus) => {
    setOpen(false);
    if (focus) root.current.querySelector("button").focus();
  };

  useEffect(() => {
    if (!open) return undefined;
    items()[0]?.focus();
    const outside = (event) => root.current.contains(event.target) || setOpen(false);
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);

  const onKeyDown = (event) => {
    if (!open) return;
    const all = items();
    const at = all.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape") close(true);
    else if (event.key === "Tab") close(false);
    else if (next !== undefined) all.at(next % all.length).focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  const onClick = (event) => event.target.closest('[role="menuitem"]') && close(true);

  return html`<div class="menu" ref=${root} onKeyDown=${onKeyDown}>
    <button type="button" class=${name || "button ghost"} aria-haspopup="menu" aria-expanded=${open ? "true" : "false"}
      aria-controls=${open ? id : undefined} aria-label=${label} onClick=${() => setOpen(!open)}>${button}</button>
    ${open && html`<div class=${`menu-list ${align}`} id=${id} role="menu" aria-label=${label} onClick=${onClick}>${children}</div>`}
  </div>`;
}

/** An action of a Menu; with `checked` given it is one of several that exclude each other. */
export function MenuItem({ onSelect, checked, children }) {
  const chosen = checked === undefined ? undefined : String(checked);
  return html`<button type="button" class="menu-item" tabindex="-1" role=${chosen ? "menuitemradio" : "menuitem"}
    aria-checked=${chosen} onClick=${onSelect}>${children}</button>`;
}
