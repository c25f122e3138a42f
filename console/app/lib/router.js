import { html } from "./preact.js";
import { keepPlace, leavePlace } from "./scroll.js";
import { createStore } from "./store.js";

const here = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });
const route = createStore(here());

addEventListener("popstate", () => route.set(here()));

/** Return {path, query} of the page's address, and follow it. */
export const useRoute = () => route.use();

/** Go to a path of the console, with its query if it has one; `replace` leaves no entry in the history. */
export function navigate(path, { replace = false } = {}) {
  if (replace) history.replaceState(history.state, "", path);
  else {
    leavePlace();
    keepPlace();
    history.pushState(null, "", path);
  }
  route.set(here());
}

/** Change members of the query in the address, in place; null and "" take a member out. */
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), { replace: true });
}

/** Build a path of the console: to("agents", "scout") is /console/agents/scout; an absent part ends it. */
export function to(...parts) {
  const given = parts.slice(0, parts.findIndex((part) => part == null || part === "") >>> 0);
  return ["/console", ...given.map((part) => encodeURIComponent(part))].join("/");
}

/** Match a path with a pattern such as "/console/chat/:agent?/:conversation?"; null if it doesn't fit. */
export function match(pattern, path) {
  const wanted = pattern.split("/");
  const parts = path.replace(/\/+$/, "").split("/");
  if (parts.length > wanted.length) return null;
  const params = {};
  for (const [index, name] of wanted.entries()) {
    const part = parts[index];
    if (!name.startsWith(":")) {
      if (name !== part) return null;
    } else if (part) {
      try {
        params[name.replace(/[:?]/g, "")] = decodeURIComponent(part);
      } catch {
        return null;
      }
    } else if (!name.endsWith("?")) return null;
  }
  return params;
}

/** A link within the console; like <a>, and it opens without a load of the page. */
export function Link({ href, children, onClick, ...rest }) {
  const follow = (event) => {
    onClick?.(event);
    const own = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!own || event.defaultPrevented || rest.target) return;
    event.preventDefault();
    navigate(href);
  };
  return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`;
}
