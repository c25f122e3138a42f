import { html, useId, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { useAction } from "../lib/load.js";
import { useSession } from "../lib/session.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { ErrorNotice } from "./notice.js";

const FIRST_FIELD = "form input:not([type=checkbox], [readonly]), form select, form textarea";

/** A dialog over the page while it is rendered. Escape, its cross and a click beside it call onClose.
 *
 * A click beside it does nothing where it holds a form or, with `keep`, what is shown only once. What was typed into a
 * form is discarded only by a second Escape; a form that only confirms an act (its button is "danger") takes one.
 * Files that are dropped anywhere go into its field for files.
 */
export function Dialog({ title, onClose, children, wide = false, keep = false }) {
  const dialog = useRef(null);
  const id = useId();
  const typed = useRef(false);
  const [asks, setAsks] = useState(false);
  const before = useRef(document.activeElement);
  const { status } = useSession();
  useLayoutEffect(() => {
    if (status !== "in") return undefined; // the log-on form is above it
    const element = dialog.current;
    element.showModal();
    // showModal would choose the dialog's body
    (element.querySelector(FIRST_FIELD) ?? element.querySelector("button")).focus();
    return () => {
      element.close(); // while it is open, nothing behind it takes the focus
      before.current?.focus();
    };
  }, [status]);
  const onInput = (event) => {
    typed.current = event.target.form?.querySelector(".danger[type=submit]") === null;
    setAsks(false);
  };
  const cancel = (event) => {
    if (event.target !== dialog.current) return; // a chooser of files was cancelled
    event.preventDefault();
    if (typed.current && !asks && dialog.current.querySelector("form")) setAsks(true);
    else onClose();
  };
  const closed = () => dialog.current && status === "in" && onClose(); // browsers let no page refuse two in a row
  const beside = (event) => {
    const isSecond = event.detail > 1; // of a double click, whose first one opened the dialog or changed its size
    const stays = keep || dialog.current.querySelector("form");
    if (event.target === dialog.current && !isSecond && !stays) onClose();
  };
  const drag = (event) => {
    if (!event.dataTransfer.types.includes("Files") || event.target.type === "file") return;
    event.preventDefault(); // the browser would open the file in the place of the page
    const field = dialog.current.querySelector("[type=file]");
    if (event.type === "dragover" || !field) return;
    field.files = event.dataTransfer.files;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  };
  return html`<dialog ref=${dialog} class=${wide ? "dialog wide" : "dialog"} aria-labelledby=${id}
    onCancel=${cancel} onClose=${closed} onInput=${onInput} onMouseDown=${beside}
    onDragOver=${drag} onDrop=${drag}>
    <div class="dialog-body" tabindex="-1">
      <header class="dialog-head">
        <h2 id=${id}>${title}</h2>
        <button type="button" class="button ghost icon-only" aria-label="Close" onClick=${onClose}>
          <${Icon} name="close" />
        </button>
      </header>
      ${children}
      <p class="dialog-asks" role="status">${asks && "Escape once more discards what you typed."}</p>
    </div>
  </dialog>`;
}

/** A question before an act: onConfirm() does it; the dialog closes when that is done and shows what it throws. */
export function Confirm({ title, confirm = "Confirm", kind = "danger", onConfirm, onClose, children }) {
  const action = useAction(async () => {
    await onConfirm();
    onClose();
  });
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <${ErrorNotice} error=${action.error} />
    <div class="form-actions">
      <${Button} kind=${kind} busy=${action.busy} onClick=${action.run}>${confirm}<//>
      <${Button} onClick=${onClose}>Cancel<//>
    </div>
  <//>`;
}
