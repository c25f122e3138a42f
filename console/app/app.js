import { Layout } from "./layout.js";
import { keepFocus } from "./lib/focus.js";
import { html, render, useEffect, useRef } from "./lib/preact.js";
import { useRoute } from "./lib/router.js";
import { checkSession, useSession } from "./lib/session.js";
import { Banner } from "./outlet.js";
import LogOn from "./pages/log-on.js";

function App() {
  const { status, record } = useSession();
  useEffect(() => {
    checkSession();
  }, []);
  const { path } = useRoute();
  const kept = useRef(null); // at the end of a session with a form over its page: the path of that page
  const isOut = status === "out";
  if (!isOut) kept.current = null;
  else kept.current ??= record !== null && holdsForm() ? path : "";
  if (status === "loading") return html`<${Starting} />`;
  const isThere = !isOut || kept.current === path;
  return html`
    ${isOut && html`<${LogOn} />`}
    ${isThere && html`<div hidden=${isOut} key=${`${record.user} ${record.role}`}><${Layout} record=${record} /></div>`}`;
}

/** Return whether a form is open over the page. Such a page stays, unseen, until its user logs on again. */
const holdsForm = () => document.querySelector("dialog[open] form") !== null;

/** What is shown until the gateway has told who is logged on. */
function Starting() {
  return html`<main class="starting">
    <${Banner} />
    <p class="offscreen" role="status">Loading the console</p>
  </main>`;
}

keepFocus();
render(html`<${App} />`, document.getElementById("app"));
