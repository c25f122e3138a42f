import { hasRole } from "./lib/session.js";

const WORKSPACE = "Workspace";
const BUILD = "Build";
const OPERATE = "Operate";

/** Every page: its path, its module, its name and icon in the navigation, and who may open it (`role`).
 *
 * An entry without a `group` is not in the navigation. To add a page, add its line.
 */
export const ROUTES = [
  { path: "/console", title: "Home", icon: "home", group: "", page: () => import("./pages/home.js") },
  { path: "/console/chat/:agent?/:conversation?", title: "Chat", icon: "chat", group: WORKSPACE, page: () => import("./pages/chat.js") },
  { path: "/console/zones/:domain?/:zone?", title: "Zones", icon: "zones", group: WORKSPACE, page: () => import("./pages/zones.js") },
  { path: "/console/agents/:name?", title: "Agents", icon: "agents", group: WORKSPACE, page: () => import("./pages/agents.js") },
  { path: "/console/domains/:name?", title: "Domains", icon: "domains", group: WORKSPACE, page: () => import("./pages/domains.js") },
  { path: "/console/banks/:name?", title: "Banks", icon: "banks", group: WORKSPACE, page: () => import("./pages/banks.js") },
  { path: "/console/explorer/:service?", title: "Bus explorer", icon: "explorer", group: BUILD, page: () => import("./pages/explorer.js") },
  { path: "/console/webhooks/:endpoint?", title: "Webhooks", icon: "webhooks", group: BUILD, page: () => import("./pages/webhooks.js") },
  { path: "/console/keys", title: "API keys", icon: "keys", group: BUILD, page: () => import("./pages/keys.js") },
  { path: "/console/live", title: "Live", icon: "live", group: OPERATE, role: "auditor", page: () => import("./pages/live.js") },
  {
    path: "/console/actors/:kind?/:key?",
    title: "Actors",
    icon: "actors",
    group: OPERATE,
    role: "auditor",
    page: () => import("./pages/actors.js"),
  },
  { path: "/console/graph/:name?", title: "Graph", icon: "graph", group: OPERATE, role: "auditor", page: () => import("./pages/graph.js") },
  { path: "/console/users/:name?", title: "Users", icon: "users", group: OPERATE, role: "auditor", page: () => import("./pages/users.js") },
  {
    path: "/console/audit",
    title: "Audit log",
    icon: "audit",
    get group() {
      return hasRole("auditor") ? OPERATE : BUILD; // users see their own log
    },
    page: () => import("./pages/audit.js"),
  },
];

/** The groups of the navigation, in order. */
export const GROUPS = ["", WORKSPACE, BUILD, OPERATE];

/** Return the pages that the user may open. */
export const allowed = () => ROUTES.filter(({ role }) => !role || hasRole(role));

/** Return whether the console has a page that the user may open at a path such as "/console/chat". */
export const has = (path) => allowed().some((route) => route.path.replace(/\/:.*$/, "") === path);
