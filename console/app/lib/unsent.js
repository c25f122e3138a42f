const held = new Set();

/** Have the browser ask before this window is closed or loaded anew for as long as `owner` has messages to send.
 *
 * Each call replaces what the owner said before. Without any owner there is no listener, which would keep the page out
 * of the browser's back/forward cache.
 */
export function holdWindow(owner, hasUnsent) {
  if (hasUnsent) held.add(owner);
  else held.delete(owner);
  if (held.size > 0) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
}

const ask = (event) => event.preventDefault();
