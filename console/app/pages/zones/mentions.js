import { html, useId, useRef, useState } from "../../lib/preact.js";

const SHOWN = 8;
const TYPED = /(^|[\s(])@([A-Za-z0-9_.-]*)$/;

/** Completion of @names in a text field: {list, about, keys, insert} for its Composer.
 *
 * `list` shows the names that fit what is typed, `keys(event)` takes the keys of the list, `about` are attributes of
 * the field, `insert(name)` puts a name where the cursor is.
 */
export function useMentions({ names, text, onText, field }) {
  const [at, setAt] = useState(0);
  const [shut, setShut] = useState(null);
  const id = useId();
  const moving = useRef(null); // where the cursor goes with the text that is about to be drawn
  const before = text.slice(0, moving.current ?? field.current?.selectionStart ?? text.length);
  const typed = TYPED.exec(before)?.[2];
  const fitting = typed === undefined || shut === before ? [] : fits(names, typed);
  const chosen = fitting[Math.min(at, fitting.length - 1)];

  const put = (name, start, end, gap = "") => {
    const written = `${text.slice(0, start)}${gap}@${name} `;
    moving.current = written.length;
    onText(written + text.slice(end));
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(written.length, written.length);
      moving.current = null;
    });
  };
  const complete = (name) => {
    setAt(0);
    put(name, before.length - typed.length - 1, before.length);
  };
  const insert = (name) => {
    const end = field.current.selectionEnd ?? text.length;
    put(name, end, end, end > 0 && !/\s$/.test(text.slice(0, end)) ? " " : "");
  };
  const keys = (event) => {
    if (fitting.length === 0) return false;
    const move = { ArrowDown: 1, ArrowUp: fitting.length - 1 }[event.key];
    if (move !== undefined) setAt((now) => (Math.min(now, fitting.length - 1) + move) % fitting.length);
    else if (event.key === "Escape") setShut(before);
    else if ((event.key === "Enter" && !event.shiftKey && !event.isComposing) || event.key === "Tab") complete(chosen);
    else return false;
    event.preventDefault();
    return true;
  };
  const list = fitting.length > 0 && html`<ul class="mentions" id=${id} role="listbox" aria-label="Members to mention">
    ${fitting.map((name, place) => html`<li key=${name} id=${`${id}-${place}`} role="option" aria-selected=${name === chosen ? "true" : "false"}
      onMouseDown=${(event) => {
        event.preventDefault();
        complete(name);
      }}>@${name}</li>`)}
  </ul>`;
  const about = {
    "aria-autocomplete": "list",
    "aria-controls": fitting.length > 0 ? id : undefined,
    "aria-activedescendant": fitting.length > 0 ? `${id}-${fitting.indexOf(chosen)}` : undefined,
  };
  return { list, about, keys, insert };
}

function fits(names, typed) {
  const wanted = typed.toLowerCase();
  return names.filter((name) => name.toLowerCase().startsWith(wanted) && name !== typed).slice(0, SHOWN);
}
