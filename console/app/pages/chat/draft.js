import { useState } from "../../lib/preact.js";

const drafts = new Map();

/** Return [text, setText] of a message that is being written; it is kept while one looks elsewhere, until a reload. */
export function useDraft(place) {
  const [text, setText] = useState(() => drafts.get(place) ?? "");
  const keep = (now) => {
    if (now) drafts.set(place, now);
    else drafts.delete(place);
    setText(now);
  };
  return [text, keep];
}
