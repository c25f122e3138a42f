import { Field, Form } from "../components/form.js";
import { LOGO } from "../components/icons.js";
import { Notice } from "../components/notice.js";
import { html, useEffect, useRef } from "../lib/preact.js";
import { logOn, useSession } from "../lib/session.js";
import { Banner } from "../outlet.js";

/** The log-on form, at whatever address the user came to; that page is shown after it. */
export default function LogOn() {
  const { reason } = useSession();
  const place = useRef(null);
  useEffect(() => {
    document.title = "Log on · Parley";
    place.current.querySelector("input").focus();
  }, []);
  const submit = async ({ name, password }, form) => {
    try {
      await logOn(name.trim(), password);
    } catch (error) {
      form.elements.password.select();
      throw error;
    }
  };
  return html`<main class="log-on" ref=${place}>
    <${Banner} />
    <div class="log-on-card">
      <header><img src=${LOGO} alt="" width="40" height="40" /><h1>Log on to Parley</h1></header>
      ${reason && html`<${Notice} kind="warning">${reason} ${reason.includes("ended") && "Log on again to go on where you were."}<//>`}
      <${Form} onSubmit=${submit} submit="Log on" label="Log on">
        <${Field} label="Name" name="name" required autocomplete="username" autocapitalize="none" maxlength="64" />
        <${Field} label="Password" name="password" type="password" required autocomplete="current-password" maxlength="256" />
      <//>
      <p class="quiet fine">New users register with the command US_Create: see the <a href="/docs">API documentation</a>.</p>
    </div>
  </main>`;
}
