import { Button } from "./components/button.js";
import { Icon, LOGO } from "./components/icons.js";
import { Menu, MenuItem } from "./components/menu.js";
import { toast, Toasts } from "./components/toast.js";
import { Fragment, html, useEffect, useRef, useState } from "./lib/preact.js";
import { Link, match, useRoute } from "./lib/router.js";
import { logOff } from "./lib/session.js";
import { setTheme, useTheme } from "./lib/theme.js";
import { useSessionWatch } from "./lib/watch.js";
import { Banner, Outlet } from "./outlet.js";
import { allowed, GROUPS } from "./routes.js";

const THEMES = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]];

/** The frame of all pages after log-on: heading, navigation, the page itself. */
export function Layout({ record }) {
  const { path } = useRoute();
  const [open, setOpen] = useState(false);
  const button = useRef(null);
  const main = useRef(null);
  const route = allowed().find((entry) => match(entry.path, path));

  useSessionWatch(record.csrf);
  useEffect(() => setOpen(false), [path]);
  useFocusOn(main, route?.path ?? path, path);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !open) return;
    setOpen(false);
    button.current.querySelector("button").focus();
  };
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };

  return html`<${Fragment}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <div class=${open ? "shell open" : "shell"} onKeyDown=${onKeyDown}>
      <header class="shell-head">
        <span class="nav-button" ref=${button}>
          <${Button} kind="ghost" icon=${open ? "close" : "menu"} aria-expanded=${open ? "true" : "false"}
            aria-controls="navigation" aria-label="Navigation" onClick=${() => setOpen(!open)} />
        </span>
        <${Link} class="brand" href="/console"><img src=${LOGO} alt="" width="24" height="24" />Parley<//>
        <${UserMenu} record=${record} />
      </header>
      <nav class="shell-nav" id="navigation" aria-label="Console"><${Navigation} current=${route} /></nav>
      <main class="shell-main" id="main" tabindex="-1" ref=${main}>
        <${Banner} version=${record.version} />
        <${Outlet} route=${route} path=${path} />
      </main>
    </div>
    <${Toasts} />
  <//>`;
}

/** Move the focus to the new page, so that screen readers begin there; not when the console is opened. */
function useFocusOn(main, page, path) {
  const before = useRef({ page, path });
  useEffect(() => {
    const isLost = before.current.path !== path && document.activeElement === document.body; // its link was hidden
    if (before.current.page !== page || isLost) main.current.focus({ preventScroll: true });
    before.current = { page, path };
  }, [page, path]);
}

function Navigation({ current }) {
  const pages = allowed().filter(({ group }) => group !== undefined);
  return GROUPS.map((group) => {
    const own = pages.filter((page) => page.group === group);
    if (own.length === 0) return null;
    return html`<div class="nav-group" key=${group}>
      ${group && html`<p class="nav-title" id=${`nav-${group}`}>${group}</p>`}
      <ul aria-labelledby=${group ? `nav-${group}` : undefined}>
        ${own.map((page) => html`<li key=${page.path}>
          <${Link} href=${page.path.replace(/\/:.*$/, "")} aria-current=${page === current ? "page" : undefined}>
            <${Icon} name=${page.icon} />${page.title}
          <//>
        </li>`)}
      </ul>
    </div>`;
  });
}

function UserMenu({ record }) {
  const theme = useTheme();
  const leave = async () => {
    try {
      await logOff();
    } catch (error) {
      toast(error.note ?? error.message);
    }
  };
  const button = html`<span class="avatar" aria-hidden="true">${record.user.slice(0, 1).toUpperCase()}</span>`;
  return html`<${Menu} label=${`User ${record.user}`} button=${button} class="avatar-button">
    <div class="menu-head"><strong>${record.user}</strong><span class="quiet">${record.role}</span></div>
    <div role="group" aria-label="Theme">
      ${THEMES.map(([id, label]) => html`<${MenuItem} key=${id} checked=${theme === id} onSelect=${() => setTheme(id)}>
        <${Icon} name=${{ system: "system", light: "sun", dark: "moon" }[id]} />${label}
        ${theme === id && html`<span class="menu-check"><${Icon} name="check" /></span>`}
      <//>`)}
    </div>
    <${MenuItem} onSelect=${leave}><${Icon} name="logoff" />Log off<//>
    <p class="menu-foot">Parley ${record.version}</p>
  <//>`;
}
