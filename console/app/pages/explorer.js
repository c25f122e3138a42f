import { Button, Confirm, CopyButton, Empty, Field, Loaded, Page, Section, Split } from "../components/index.js";
import { useLoad, useSettled } from "../lib/load.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { Link, setQuery, to } from "../lib/router.js";
import { session } from "../lib/session.js";
import { Answer, docsOf } from "./explorer/answer.js";
import { Caution, Fields, RawJson, StreamOptions } from "./explorer/form.js";
import { asCurl, asPython, membersFrom, parsed, queryOf, stateOf, valuesFrom } from "./explorer/request.js";
import { groupsOf, loadCommands } from "./explorer/schema.js";
import { useSending } from "./explorer/sending.js";

/** Every command of the bus: a form from its schema, the answer, and the same as curl or Python. */
export default function Explorer({ params, query }) {
  const commands = useLoad(loadCommands);
  const back = params.service ? { href: to("explorer"), label: "Commands" } : undefined;
  return html`<${Page} title="Bus explorer" part=${params.service} wide back=${back}
    intro="Send any command as yourself. What you fill in is in the link; passwords never are.">
    <${Loaded} from=${commands} lines=${8}>${(all) => {
      const chosen = all.find(({ service }) => service === params.service);
      return html`<${Split} label="Commands" chosen=${Boolean(params.service)}
        list=${html`<${Commands} all=${all} chosen=${chosen} find=${query.find ?? ""} />`}>
        ${chosen
          ? html`<${Command} key=${chosen.service} command=${chosen} query=${query} />`
          : html`<${NoneChosen} service=${params.service} />`}
      <//>`;
    }}<//>
  <//>`;
}

function NoneChosen({ service }) {
  if (!service) return html`<${Empty} title="Choose a command" icon="explorer">Its form has exactly the members that it uses.<//>`;
  return html`<${Empty} title=${`There is no command ${service}`} icon="search">Names of commands are case-sensitive.<//>`;
}

/** The list of all commands by group; the words of the search narrow it. */
function Commands({ all, chosen, find }) {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ service, summary }) => words.every((word) => `${service} ${summary}`.toLowerCase().includes(word));
  const groups = groupsOf(all.filter(fits));
  const place = useRef(null);
  useEffect(() => {
    place.current.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, []);
  return html`<div class="commands" ref=${place}>
    <${Field} label="Search commands" type="search" hideLabel placeholder="Search commands" maxlength="200" value=${find}
      onInput=${(event) => setQuery({ find: event.currentTarget.value })} />
    <div class="commands-list">
      ${groups.length === 0 && html`<p class="quiet">No command found. Try fewer words.</p>`}
      ${groups.map((group) => html`<section key=${group.title} aria-label=${group.title}>
        <h2 title=${group.about}>${group.title}</h2>
        <ul>${group.commands.map((command) => html`<li key=${command.service}>
          <${Link} href=${to("explorer", command.service) + (find ? `?find=${encodeURIComponent(find)}` : "")}
            title=${command.summary} aria-current=${command === chosen ? "page" : undefined}>${command.service}<//>
        </li>`)}</ul>
      </section>`)}
    </div>
  </div>`;
}

/** One command: its form on one side, the answer on the other. */
function Command({ command, query }) {
  const [form, setForm] = useState(() => stateOf(command, query));
  const [asking, setAsking] = useState(false);
  const place = useRef(null);
  const sending = useSending();
  const change = (changes) => setForm((before) => ({ ...before, ...changes }));
  const raw = form.mode === "json" ? parsed(form.text, command.service) : {};
  const body = form.mode === "json" ? raw.body : membersFrom(command, form.values);
  useLinkOf(command, form);
  useEffect(() => {
    if (sending.busy && place.current.getBoundingClientRect().top > innerHeight * 0.7) place.current.scrollIntoView();
  }, [sending.busy]);

  const sendIt = () => sending.run(command, body, form);
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
  };
  const submit = (event) => {
    event.preventDefault();
    if (body === undefined) return;
    if (command.erases) setAsking(true);
    else sendIt();
  };
  return html`<div class="command">
    <${Section} title=${command.service} intro=${command.summary}
      actions=${html`<a class="fine" href=${docsOf(command)} target="_blank" rel="noopener">Documentation</a>`}>
      <form class="form" onSubmit=${submit} onKeyDown=${onKeyDown} aria-label=${`Request ${command.service}`} key=${form.mode}>
        <${Caution} command=${command} />
        <${Mode} command=${command} form=${form} body=${body} change=${change} />
        ${form.mode === "json"
          ? html`<${RawJson} text=${form.text} error=${raw.error} onChange=${(text) => change({ text })} />`
          : html`<${Fields} command=${command} values=${form.values}
              onChange=${(path, value) => setForm((before) => ({ ...before, values: { ...before.values, [path]: value } }))} />`}
        <${StreamOptions} command=${command} stream=${form.stream} after=${form.after}
          onStream=${(stream) => change({ stream })} onAfter=${(after) => change({ after })} />
        <div class="form-actions">
          <${Button} type="submit" kind="primary" icon="send" busy=${sending.busy}>Send<//>
          ${sending.busy && html`<${Button} icon="stop" onClick=${sending.stop}>Stop<//>`}
          <span class="fine not-on-phone">Ctrl+Enter sends.</span>
          <${Copies} command=${command} body=${body} form=${form} />
        </div>
      </form>
    <//>
    <div class="command-answer" ref=${place}>
      <${Section} title="Answer"><${Answer} command=${command} answer=${sending.answer} busy=${sending.busy} /><//>
    </div>
    ${asking && html`<${Confirm} title=${`Send ${command.service}?`} confirm="Send" onClose=${() => setAsking(false)}
      onConfirm=${() => void sendIt()}>It removes something for good.<//>`}
  </div>`;
}

/** Keep the link of the page equal to the form. */
function useLinkOf(command, form) {
  const settled = useSettled(form, 250);
  const first = useRef(settled);
  useEffect(() => {
    if (settled !== first.current) setQuery(queryOf(command, settled));
  }, [settled]);
}

/** Whether the request is filled in as a form or written as JSON; each begins with what the other one holds. */
function Mode({ command, form, body, change }) {
  const choose = (mode) => {
    if (mode === form.mode) return;
    if (mode === "json") change({ mode, text: JSON.stringify(body, null, 2) });
    else change({ mode, values: body ? valuesFrom(command, body).values : form.values });
  };
  const example = () => {
    const { service: _, ...given } = command.example;
    change({ values: valuesFrom(command, given).values, text: JSON.stringify(given, null, 2) });
  };
  return html`<div class="modes">
    <div class="switch" role="group" aria-label="Request as">
      ${[["form", "Form"], ["json", "JSON"]].map(([mode, label]) => html`<button key=${mode} type="button"
        aria-pressed=${mode === form.mode ? "true" : "false"} onClick=${() => choose(mode)}>${label}</button>`)}
    </div>
    ${Object.keys(command.example).length > 0 && html`<${Button} kind="ghost" size="small" onClick=${example}>Fill in an example<//>`}
  </div>`;
}

/** Buttons that copy the request as a program; there is none while its JSON is invalid. */
function Copies({ command, body, form }) {
  const { bus } = session();
  const about = { stream: form.stream, after: form.after, origin: location.origin, url: location.origin + bus, brand: bus.split("/").at(-2) };
  return html`<span class="copies">
    ${[["curl", asCurl], ["Python", asPython]].map(([language, write]) => html`<${CopyButton} key=${language} label=${`Copy as ${language}`}
      size="" kind="ghost" disabled=${body === undefined} text=${body && write(command, body, about)} />`)}
  </span>`;
}
