import { withQuery } from "./api.js";
import { openEvents } from "./events.js";
import { useEffect, useRef } from "./preact.js";

const PATH = "/console/watch";
const SETTLES_MS = 50; // a page that is left and the next one change what is watched together

const watchers = new Set();
let watched = null; // the query of the stream that is open
let timer = null;
let close = () => {};

/** Hear of changes of {banks: [name], zones: ["DOMAIN/ZONE"]}: onChanged({kind, name}), soon after they happen.
 *
 * kind is "bank" or "zone", or null when the stream begins or goes on: changes before that may have been missed.
 */
export function useWatch({ banks = [], zones = [] }, onChanged) {
  const latest = useRef(onChanged);
  latest.current = onChanged;
  useEffect(() => {
    const watcher = { banks, zones, tell: (change) => latest.current(change) };
    watchers.add(watcher);
    settle();
    return () => {
      watchers.delete(watcher);
      settle();
    };
  }, [banks.join("\n"), zones.join("\n")]);
}

/** Keep the window's one watch open while the session of this `csrf` lasts: it also tells at once that it has ended. */
export function useSessionWatch(csrf) {
  useEffect(() => {
    watched = null;
    open(query());
    return () => {
      clearTimeout(timer);
      close();
      watched = null;
    };
  }, [csrf]);
}

function settle() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (watched !== null && query() !== watched) open(query());
  }, SETTLES_MS);
}

function query() {
  const named = (kind) => [...new Set([...watchers].flatMap((watcher) => watcher[kind]))].sort().join(",");
  return withQuery(PATH, { bank: named("banks"), zone: named("zones") });
}

function open(path) {
  close();
  watched = path;
  close = openEvents({
    path,
    onEvent: ({ event, data }) => event === "changed" && tell(data),
    onState: (state, reason) => {
      if (state === "open") tell({ kind: null, name: null });
      if (state === "ended" && reason?.http) refused(path);
    },
  });
}

/** One of the names is gone or may not be seen any more: the pages read that for themselves. */
function refused(path) {
  if (path === PATH) return;
  tell({ kind: null, name: null });
  open(PATH);
  watched = path; // asked for again when what is watched changes
}

function tell(change) {
  for (const { banks, zones, tell: hear } of [...watchers]) {
    const names = change.kind === "bank" ? banks : zones;
    if (change.kind === null || names.includes(change.name)) hear(change);
  }
}
