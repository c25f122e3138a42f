import { createStore } from "./store.js";

const KEY = "parley.theme";
const store = createStore(document.documentElement.dataset.theme ?? "system");

/** Return the chosen theme: system, light or dark. */
export const useTheme = () => store.use();

/** Choose a theme for this browser: system, light or dark. */
export function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice holds until the page is loaded again.
  }
  store.set(theme);
  for (const listener of listeners) listener();
}

const listeners = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const listener of listeners) listener();
});

/** Call a listener whenever the colours on the page change; returns a function that stops this. */
export function onColours(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return the value of a design token, such as colour("--accent"), in the theme of now. */
export function colour(token) {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
