import { Layout } from "./layout.js";
import { keepFocus } from "./lib/focus.js";
import { html, render, useEffect } from "./lib/preact.js";
import { checkSession, useSession } from "./lib/session.js";
import { Banner } from "./outlet.js";
import LogOn from "./pages/log-on.js";

function App() {
  const { status, record } = useSession();
  useEffect(() => {
    checkSession();
  }, []);
  if (status === "loading") return html`<${Starting} />`;
  if (status === "out") return html`<${LogOn} />`;
  return html`<${Layout} key=${`${record.user} ${record.role}`} record=${record} />`;
}

/** What is shown until the gateway has told who is logged on. */
function Starting() {
  return html`<main class="starting">
    <${Banner} />
    <p class="offscreen" role="status">Loading the console</p>
  </main>`;
}

keepFocus();
render(html`<${App} />`, document.getElementById("app"));
