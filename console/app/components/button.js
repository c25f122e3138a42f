import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { Link } from "../lib/router.js";
import { Icon } from "./icons.js";

const classes = (kind, size, more = "") => `button ${kind} ${size} ${more}`.trim();

/** A button; kind is "primary", "plain", "danger" or "ghost", `busy` shows that its action runs.
 *
 * The second click of a double click does nothing: it would repeat the action, or act on what has come in its place.
 */
export function Button({ kind = "plain", size = "", busy = false, icon, type = "button", children, disabled, ...rest }) {
  const click = (event) => {
    if (busy || event.detail > 1) event.preventDefault();
    else rest.onClick?.(event);
  };
  return html`<button type=${type} ...${rest} class=${classes(kind, size, rest.class)}
    disabled=${disabled} aria-disabled=${busy ? "true" : undefined} aria-busy=${busy ? "true" : undefined}
    onClick=${click}>
    ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : icon && html`<${Icon} name=${icon} />`}
    ${children}
  </button>`;
}

/** A link that looks like a button. */
export function LinkButton({ kind = "plain", size = "", icon, children, ...rest }) {
  return html`<${Link} ...${rest} class=${classes(kind, size, rest.class)}>
    ${icon && html`<${Icon} name=${icon} />`}${children}
  <//>`;
}

/** A button that copies a text to the clipboard and says so. */
export function CopyButton({ text, label = "Copy", kind = "plain", size = "small", disabled = false }) {
  const [said, setSaid] = useState("");
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (event) => {
    const copied = await copyText(text, event.currentTarget.closest("dialog") ?? document.body);
    setSaid(copied ? "Copied" : "Copy it by hand");
    timer.current = setTimeout(() => setSaid(""), 2000);
  };
  return html`<button type="button" class=${classes(kind, size)} disabled=${disabled} onClick=${copy}>
    <${Icon} name=${said === "Copied" ? "check" : "copy"} /><span aria-live="polite">${said || label}</span>
  </button>`;
}

async function copyText(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, place); // plain http has no clipboard of its own
  }
}

function copyBySelection(text, place) {
  const area = document.createElement("textarea");
  const focused = document.activeElement;
  area.value = text;
  area.className = "offscreen";
  place.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
