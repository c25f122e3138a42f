import { useRef, useState } from "../../lib/preact.js";
import { keepInTab, readTab } from "../../lib/tab-storage.js";

/** Return [text, setText, putBefore] of a message that is being written; the tab keeps it while one looks elsewhere.
 *
 * putBefore(more) puts a text before what is written already.
 */
export function useDraft(place) {
  const key = `parley.draft ${place}`;
  const [text, setText] = useState(() => readTab(key) ?? "");
  const latest = useRef(text);
  latest.current = text;
  const keep = (now) => {
    keepInTab(key, now || null);
    setText(now);
  };
  return [text, keep, (more) => keep(latest.current.trim() ? `${more}\n${latest.current}` : more)];
}
