import { Button, LinkButton } from "./components/button.js";
import { Empty, Loading, Notice } from "./components/notice.js";
import { Page } from "./components/page.js";
import { connection } from "./lib/connection.js";
import { send, wait } from "./lib/http.js";
import { Component, html, useEffect, useState } from "./lib/preact.js";
import { match, useRoute } from "./lib/router.js";

const AGAIN_MS = 1500;
const modules = new Map();

/** Show the page of a route; its module is loaded at its first use. */
export function Outlet({ route, path }) {
  const { query } = useRoute();
  const [loaded, setLoaded] = useState({ route: null, page: null, error: null });
  useEffect(() => {
    if (!route) return undefined;
    return follow(route, (page, error) => setLoaded({ route, page, error }));
  }, [route]);

  if (!route) return html`<${NotFound} />`;
  const page = modules.get(route) ?? (loaded.route === route ? loaded.page : null);
  if (page) {
    return html`<${Boundary} key=${route.path} path=${path}><${page} params=${match(route.path, path) ?? {}} query=${query} /><//>`;
  }
  if (loaded.route === route && loaded.error) return html`<${Failed} error=${loaded.error} />`;
  return html`<${Page} title=${route.title}><${Loading} /><//>`;
}

/** Load the module of a route, again once the gateway is reached if it can't be. Returns what stops it. */
function follow(route, done) {
  let stopped = false;
  const load = async (tries) => {
    try {
      if (!modules.has(route)) modules.set(route, (await route.page()).default);
      if (!stopped) done(modules.get(route), null);
    } catch (error) {
      if (stopped) return;
      if (tries === 0) return done(null, error);
      await reached(() => stopped);
      await load(tries - 1);
    }
  };
  load(1);
  return () => {
    stopped = true;
  };
}

/** Wait until the gateway answers; the banner tells of it meanwhile. */
async function reached(isStopped) {
  while (!isStopped()) {
    try {
      await send("GET", "/console/session");
      return;
    } catch {
      await wait(AGAIN_MS);
    }
  }
}

/** Tell that the connection is lost, or that the gateway was replaced by another version. */
export function Banner({ version }) {
  const lost = connection.useLost();
  const [first] = useState(version);
  return html`<div class="banners" role="status" aria-live="polite">
    ${lost && html`<p class="banner lost"><span class="spinner" aria-hidden="true"></span>Connection lost. Trying again …</p>`}
    ${version && version !== first && html`<p class="banner">The gateway is now version ${version}.
      <${Button} size="small" onClick=${() => location.reload()}>Load the new console<//></p>`}
  </div>`;
}

/** Catches what a page throws while it is drawn; another path tries again. */
class Boundary extends Component {
  constructor(properties) {
    super(properties);
    this.state = { error: null };
  }

  static getDerivedStateFromError(error) {
    return { error };
  }

  componentDidCatch(error) {
    console.error(error);
  }

  componentDidUpdate(before) {
    if (this.state.error && before.path !== this.props.path) this.setState({ error: null });
  }

  render({ children }, { error }) {
    return error ? html`<${Failed} error=${error} />` : children;
  }
}

function Failed({ error }) {
  const again = html`<${Button} icon="refresh" onClick=${() => location.reload()}>Load the page again<//>`;
  return html`<${Page} title="This page failed">
    <${Notice} kind="error" title="A fault in the console stopped this page." actions=${again}>
      <code>${String(error?.message ?? error)}</code>
    <//>
  <//>`;
}

function NotFound() {
  return html`<${Page} title="Page not found">
    <${Empty} title="There is no page at this address, or not for your role." icon="search"
      actions=${html`<${LinkButton} kind="primary" href="/console">Go to the home page<//>`}>
      Check the link, or choose a page from the navigation.
    <//>
  <//>`;
}
