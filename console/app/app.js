import { Layout } from "./layout.js";
import { html, render, useEffect } from "./lib/preact.js";
import { checkSession, useSession } from "./lib/session.js";
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

/** Nothing but the banner, if the gateway can't be reached: the first answer takes milliseconds. */
function Starting() {
  return html`<div class="starting" role="status"><span class="offscreen">Loading the console</span></div>`;
}

render(html`<${App} />`, document.getElementById("app"));
