import { useState } from "../../lib/preact.js";
import { keepInTab, readTab } from "../../lib/tab-storage.js";

/** Return [text, setText] of a message that is being written; the tab keeps it while one looks elsewhere. */
export function useDraft(place) {
  const key = `parley.draft ${place}`;
  const [text, setText] = useState(() => readTab(key) ?? "");
  const keep = (now) => {
    keepInTab(key, now || null);
    setText(now);
  };
  return [text, keep];
}
