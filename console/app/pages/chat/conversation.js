import { command, newKey, route } from "../../lib/api.js";
import { useEffect, useMemo, useRef, useState } from "../../lib/preact.js";
import { followRun } from "./run.js";

const PAGE = 50;
const MAX_PAGE = 200;
const AWAY_MS = 10_000;
const START = { messages: [], runs: [], next: null, done: false, loading: false, error: null, said: "" };
const runOf = (message) => `run_${message.id.slice(4)}`;

/** The messages of a conversation and the chats that are on their way in it.
 *
 * `target` is the `target` of its commands. Returns {messages (by seq), runs, done, loading, error, said, older, send,
 * cancel, retry, drop, refresh}. A run is {key, id, content, text, state: "working" | "failed", error, cancelling};
 * onChat(reply) is called whenever a chat has ended, with null if there is no reply.
 */
export function useConversation(target, onChat) {
  const identity = JSON.stringify(target);
  const [state, setState] = useState(START);
  const latest = useRef(null);
  latest.current = { target, onChat };
  const talk = useMemo(() => new Talk(latest, setState), [identity]);
  useEffect(() => {
    talk.open();
    return () => talk.close();
  }, [talk]);
  useReturn(() => talk.refresh());
  return { ...state, ...talk.acts };
}

/** Read again when the user comes back to the page: more may have been said in another window. */
function useReturn(act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    let left = Infinity;
    const seen = () => {
      if (document.hidden) left = performance.now();
      else if (performance.now() - left > AWAY_MS) latest.current();
    };
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, []);
}

class Talk {
  constructor(latest, setState) {
    this.latest = latest;
    this.setState = setState;
    this.state = START;
    this.stops = new Map();
    this.closed = false;
    const { target } = latest.current;
    this.target = target;
    this.acts = {
      older: () => this.older(),
      send: (content) => this.send(content),
      cancel: (run) => this.cancel(run),
      retry: (run) => this.retry(run),
      drop: (run) => this.change({ runs: this.state.runs.filter(({ key }) => key !== run.key) }),
      refresh: () => this.refresh(),
    };
  }

  change(changes) {
    if (this.closed) return;
    this.state = { ...this.state, ...changes };
    this.setState(this.state);
  }

  /** Load the newest page; a chat that is on its way, begun in another window or before a reload, is followed. */
  async open() {
    this.change(START);
    await this.older();
    const last = this.state.messages.at(-1);
    if (last?.role !== "user" || last.mark !== null) return;
    const id = runOf(last);
    if (this.state.runs.some((run) => run.id === id)) return;
    const run = await route("GET", `/api/runs/${id}`).catch(() => null);
    if (this.closed || run?.state !== "working" || this.state.runs.some((known) => known.id === id)) return;
    const entry = { key: newKey(), id, content: last.content, text: "", state: "working", error: null };
    this.change({ runs: [...this.state.runs, entry] });
    this.follow(entry);
  }

  close() {
    this.closed = true;
    for (const stop of this.stops.values()) stop();
  }

  read(page) {
    return command("AP_History", { target: this.target, page });
  }

  async older() {
    if (this.state.loading || this.state.done) return;
    this.change({ loading: true, error: null });
    try {
      const page = await this.read({ limit: PAGE, cursor: this.state.next ?? undefined });
      this.merge(page.content, { next: page.header.next, done: page.header.next === null, loading: false });
    } catch (error) {
      const none = error.code === 3000 && this.target.conversation === "default"; // it begins with the first message
      this.change(none ? { loading: false, done: true } : { loading: false, error });
    }
  }

  /** Read anew all that is shown, because something in it was censored, or more may have been said. */
  async refresh() {
    this.change({ said: "" });
    const { messages } = this.state;
    const first = messages[0]?.seq ?? 0;
    const read = [];
    let cursor;
    try {
      do {
        const limit = Math.min(MAX_PAGE, Math.max(PAGE, messages.length + 10));
        const page = await this.read({ limit, cursor });
        read.unshift(...page.content);
        cursor = page.header.next ?? undefined;
      } while (cursor !== undefined && read.length > 0 && read[0].seq > first);
    } catch {
      return; // what is shown stays; the next hint or the next chat reads again
    }
    this.merge(read.filter(({ seq }) => seq >= first));
  }

  /** Add messages as they are now stored; of those with one id the given one counts. */
  merge(given, changes = {}) {
    const all = new Map(this.state.messages.map((message) => [message.id, message]));
    for (const message of given) all.set(message.id, message);
    this.change({ ...changes, messages: [...all.values()].sort((one, other) => one.seq - other.seq) });
  }

  send(content) {
    const entry = { key: newKey(), id: null, content, text: "", state: "working", error: null };
    this.change({ runs: [...this.state.runs, entry] });
    this.follow(entry);
  }

  follow(entry) {
    const { key } = entry;
    const stop = followRun({
      body: { target: this.target, content: entry.content },
      key,
      run: entry.id,
      on: {
        begun: (id) => this.changeRun(key, { id }),
        text: (text) => this.changeRun(key, { text }),
        ended: (messages) => this.ended(key, messages),
        failed: (error) => this.failed(key, error),
      },
    });
    this.stops.set(key, stop);
  }

  changeRun(key, changes) {
    this.change({ runs: this.state.runs.map((run) => (run.key === key ? { ...run, ...changes } : run)) });
  }

  ended(key, messages) {
    const reply = messages.at(-1);
    const runs = this.state.runs.filter((run) => run.key !== key);
    this.merge(messages, { runs, done: this.state.done || this.state.messages.length === 0 });
    this.change({ said: `${reply.name}: ${reply.content}` });
    this.latest.current.onChat(reply);
  }

  /** Show why there is no reply; a chat that was stopped before its first word has its mark instead. */
  async failed(key, error) {
    const run = this.state.runs.find((known) => known.key === key);
    await this.refresh();
    if (run?.cancelling) this.acts.drop(run);
    else this.changeRun(key, { state: "failed", error });
    this.latest.current.onChat(null);
  }

  async cancel(run) {
    this.changeRun(run.key, { cancelling: true });
    try {
      const id = run.id ?? (await this.idOf(run));
      if (id !== null) return await route("POST", `/api/runs/${id}/cancel`);
    } catch {
      // Stop can be tried again.
    }
    return this.changeRun(run.key, { cancelling: false });
  }

  /** Find the id of a run that is silent so far: its answer has begun with no header, but its message is stored. */
  async idOf(run) {
    const { content } = await this.read({ limit: PAGE });
    const others = new Set(this.state.runs.map(({ id }) => id));
    const answered = new Set(content.filter(({ role }) => role === "agent").map(({ seq }) => seq - 1));
    const waiting = content.filter((message) => message.role === "user" && message.mark === null && !answered.has(message.seq));
    const own = waiting.findLast((message) => message.content === run.content && !others.has(runOf(message)));
    return own ? runOf(own) : null;
  }

  /** Try again: under the same key where the gateway failed, else anew, because refusals are kept with their key. */
  retry(run) {
    const isSame = run.error.code >= 5000 || run.error.code === 0;
    this.acts.drop(run);
    if (!isSame) return this.send(run.content);
    const entry = { ...run, id: null, text: "", state: "working", error: null };
    this.change({ runs: [...this.state.runs, entry] });
    return this.follow(entry);
  }
}
