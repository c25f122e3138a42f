import { html, useEffect, useId, useRef } from "../lib/preact.js";
import { useAction } from "../lib/load.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { ErrorNotice } from "./notice.js";

const FIRST_FIELD = "form input:not([type=checkbox]), form select, form textarea";

/** A dialog over the page while it is rendered. Escape, its cross and a click beside it call onClose.
 *
 * With `keep` a click beside it does nothing, because what it shows is shown only once.
 */
export function Dialog({ title, onClose, children, wide = false, keep = false }) {
  const dialog = useRef(null);
  const id = useId();
  useEffect(() => {
    const [before, element] = [document.activeElement, dialog.current];
    element.showModal();
    (element.querySelector(FIRST_FIELD) ?? element.querySelector("button")).focus(); // showModal would choose the dialog's body
    return () => {
      element.close(); // while it is open, nothing behind it takes the focus
      before?.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  const beside = (event) => {
    const isSecond = event.detail > 1; // of a double click, whose first one opened the dialog or changed its size
    if (event.target === dialog.current && !isSecond && !keep) onClose();
  };
  return html`<dialog ref=${dialog} class=${wide ? "dialog wide" : "dialog"} aria-labelledby=${id}
    onCancel=${cancel} onMouseDown=${beside}>
    <div class="dialog-body" tabindex="-1">
      <header class="dialog-head">
        <h2 id=${id}>${title}</h2>
        <button type="button" class="button ghost icon-only" aria-label="Close" onClick=${onClose}>
          <${Icon} name="close" />
        </button>
      </header>
      ${children}
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
