const known = new Map(); // also what the browser doesn't store

/** Return the text that this tab keeps under a key, over reloads and until it is closed; null without one. */
export function readTab(key) {
  try {
    return known.get(key) ?? sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text in this tab; null forgets it. Where the browser stores nothing, it is kept until a reload. */
export function keepInTab(key, text) {
  known.set(key, text);
  try {
    if (text === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // no storage, or it is full
  }
}
