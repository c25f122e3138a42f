import { html, useId, useRef } from "../lib/preact.js";
import { setQuery, useRoute } from "../lib/router.js";

/** Tabs, [{id, label, content: () => nodes}]; the chosen one is a member of the query, "tab" unless named. */
export function Tabs({ label, tabs, name = "tab" }) {
  const { query } = useRoute();
  const bar = useRef(null);
  const id = useId();
  const chosen = tabs.find((tab) => tab.id === query[name]) ?? tabs[0];
  const choose = (tab) => setQuery({ [name]: tab === tabs[0] ? null : tab.id });

  const onKeyDown = (event) => {
    const at = tabs.indexOf(chosen);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(tabs.at(next % tabs.length));
    bar.current.children[(next + tabs.length) % tabs.length].focus();
  };

  return html`<div class="tabs">
    <div class="tab-bar" role="tablist" aria-label=${label} ref=${bar} onKeyDown=${onKeyDown}>
      ${tabs.map((tab) => html`<button key=${tab.id} type="button" role="tab" id=${`${id}-${tab.id}`}
        aria-selected=${tab === chosen ? "true" : "false"} aria-controls=${`${id}-panel`}
        tabindex=${tab === chosen ? 0 : -1} onClick=${() => choose(tab)}>${tab.label}</button>`)}
    </div>
    <div class="tab-panel" role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${chosen.id}`} key=${chosen.id}>
      ${chosen.content()}
    </div>
  </div>`;
}
