import { Field, Form } from "../components/form.js";
import { LOGO } from "../components/icons.js";
import { Notice } from "../components/notice.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { logOn, register, useSession } from "../lib/session.js";
import { Banner } from "../outlet.js";

/** The log-on form, at whatever address the user came to; that page is shown after it. New users register here, too. */
export default function LogOn() {
  const { reason } = useSession();
  const [isNew, setNew] = useState(false);
  const place = useRef(null);
  useEffect(() => {
    const { title } = document;
    return () => {
      document.title = title; // that of a page which was kept
    };
  }, []);
  useEffect(() => {
    document.title = `${isNew ? "Register" : "Log on"} · Parley`;
    place.current.querySelector("input").focus();
  }, [isNew]);
  return html`<main class="log-on" ref=${place}>
    <${Banner} />
    <div class="log-on-card">
      <header><img src=${LOGO} alt="" width="40" height="40" /><h1>${isNew ? "Register with Parley" : "Log on to Parley"}</h1></header>
      ${reason && !isNew && html`<${Notice} kind="warning">${reason} ${/\bended\b/.test(reason) && "Log on again to go on where you were."}<//>`}
      <${Credentials} key=${isNew} isNew=${isNew} />
      <p class="quiet fine">
        ${isNew ? "Registered already?" : "New here?"} <button type="button" class="as-link" onClick=${() => setNew(!isNew)}>
          ${isNew ? "Log on instead" : "Register a new user"}</button>
      </p>
    </div>
  </main>`;
}

function Credentials({ isNew }) {
  const submit = async ({ name, password }, form) => {
    try {
      if (isNew) await register(name.trim(), password);
      await logOn(name.trim(), password);
    } catch (error) {
      form.elements.password.select();
      throw error;
    }
  };
  const [text, autocomplete] = isNew ? ["Register", "new-password"] : ["Log on", "current-password"];
  const named = isNew ? { hint: "3 to 64 letters, digits, -, _ or ., beginning and ending with a letter or digit." } : {};
  const rules = isNew ? { minlength: 8, hint: "At least 8 characters." } : {};
  return html`<${Form} onSubmit=${submit} submit=${text} label=${text}>
    <${Field} label="Name" name="name" required autocomplete="username" autocapitalize="none" maxlength="64" ...${named} />
    <${Field} label="Password" name="password" type="password" required autocomplete=${autocomplete} maxlength="256" ...${rules} />
  <//>`;
}
