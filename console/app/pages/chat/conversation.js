import { command, newKey, route } from "../../lib/api.js";
import { ENDED, NOT_THERE, wait } from "../../lib/http.js";
import { useEffect, useMemo, useRef, useState } from "../../lib/preact.js";
import { isLoggedOn, session } from "../../lib/session.js";
import { holdWindow } from "../../lib/unsent.js";
import { Lane } from "./lane.js";
import { followRun } from "./run.js";

const PAGE = 50;
const MAX_PAGE = 200;
const AWAY_MS = 2_000;
const ARRIVES_MS = 300;
const AGAIN_MS = [1_000, 5_000];
const START = { messages: [], runs: [], next: null, done: false, loading: false, error: null, said: "" };
const runOf = (message) => `run_${message.id.slice(4)}`;

/** The messages of a conversation and the chats that are on their way in it.
 *
 * `target` is the `target` of its commands. Returns {messages (by seq), runs, done, loading, error, said, older, send,
 * cancel, retry, drop, refresh}. A run is {key, id, content, text, state: "working" | "failed", error, cancelling};
 * onChat(reply) is called whenever a chat has ended, with null if there is no reply.
 */
export function useConversation(target, onChat) {
  const { user } = session();
  const identity = `${user} ${JSON.stringify(target)}`;
  const [state, setState] = useState(START);
  const latest = useRef(null);
  latest.current = onChat;
  const talk = useMemo(() => left.get(identity) ?? new Talk(user, identity, target), [identity]);
  useEffect(() => {
    talk.show(setState, (reply) => latest.current(reply));
    return () => talk.leave();
  }, [talk]);
  useReturn(() => talk.catchUp());
  return { ...state, ...talk.acts };
}

/** Read again when the user comes back to the window: more may have been said in another one. */
function useReturn(act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    let since = document.hasFocus() ? Infinity : performance.now();
    const away = () => {
      since = Math.min(since, performance.now());
    };
    const back = () => {
      if (performance.now() - since > AWAY_MS) latest.current(); // each read is a request of the user's day
      since = Infinity;
    };
    const seen = () => (document.hidden ? away() : back());
    const events = [[document, "visibilitychange", seen], [window, "blur", away], [window, "focus", back]];
    for (const [of, event, act] of events) of.addEventListener(event, act);
    return () => {
      for (const [of, event, act] of events) of.removeEventListener(event, act);
    };
  }, []);
}

/** Conversations that were left while a chat is on its way or waits to be sent, or with one that has failed. */
const left = new Map();
const nothing = () => {};

class Talk {
  constructor(user, identity, target) {
    this.user = user;
    this.identity = identity;
    this.target = target;
    this.setState = nothing;
    this.onChat = nothing;
    this.state = START;
    this.stops = new Map();
    this.lane = new Lane(1);
    this.closed = false;
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
    this.hold();
  }

  hold() {
    const isNotStored = ({ id, state, unreached }) => id === null && (state === "failed" || unreached);
    holdWindow(this, this.lane.hasWaiting() || this.state.runs.some(isNotStored));
  }

  /** Tell a page of all changes from now on. */
  async show(setState, onChat) {
    Object.assign(this, { setState, onChat, closed: false });
    if (left.delete(this.identity)) {
      setState(this.state);
      await this.refresh();
    } else {
      this.change(START);
      await this.older();
    }
    return this.find();
  }

  /** Tell nobody any more; end where no chat is on its way or has failed. */
  leave() {
    Object.assign(this, { setState: nothing, onChat: nothing });
    left.set(this.identity, this);
    this.endIfLeft();
  }

  endIfLeft() {
    if (left.get(this.identity) !== this || this.state.runs.length > 0) return;
    left.delete(this.identity);
    this.closed = true;
    for (const stop of this.stops.values()) stop();
  }

  /** Follow the chat that is on its way in another window, or was before a reload. */
  async find() {
    const last = this.state.messages.at(-1);
    if (last?.role !== "user" || last.mark !== null) return;
    const id = runOf(last);
    const mayBe = (run) => run.id === null && run.state === "working" && run.content === last.content;
    const isIt = (run) => run.id === id || mayBe(run); // its header is still on the way
    const isKnown = () => this.state.runs.some(isIt);
    const run = isKnown() ? null : await route("GET", `/api/runs/${id}`).catch(() => null);
    if (this.closed || run === null || isKnown()) return;
    if (run.state !== "working") return this.catchUp(last); // it has ended since its conversation was read
    const after = last.seq - 1;
    const entry = { key: newKey(), id, content: last.content, after, text: "", state: "working", error: null, found: true };
    this.change({ runs: [...this.state.runs, entry] });
    this.follow(entry);
  }

  /** Read what has come after `message`, the last one that is known, and follow a chat that is on its way there. */
  async catchUp(message = this.state.messages.at(-1)) {
    await this.refresh();
    if (this.state.messages.at(-1)?.id !== message?.id) await this.find();
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
      // it begins with the first message
      const none = error.code === NOT_THERE && this.target.conversation === "default";
      this.change(none ? { loading: false, done: true } : { loading: false, error });
    }
  }

  /** Read anew all that is shown, because something in it was censored, or more may have been said. */
  async refresh() {
    const { messages, done } = this.state;
    if (messages.length === 0 && !done) return this.older(); // from no first message on, all would be read
    this.change({ said: "" });
    const first = done ? 0 : messages[0].seq;
    for (const pause of [...AGAIN_MS, null]) {
      try {
        const read = await this.readFrom(first, messages.length);
        return this.merge(read.filter(({ seq }) => seq >= first));
      } catch (error) {
        const isRefused = error.http >= 400 && error.http < 500; // it would be again
        // what is shown stays; the next hint or the next chat reads again
        if (pause === null || isRefused || this.closed) return;
      }
      await wait(pause);
    }
  }

  /** Read the newest messages, down to `first`, of which `count` are known. */
  async readFrom(first, count) {
    const read = [];
    let cursor;
    do {
      const limit = Math.min(MAX_PAGE, Math.max(PAGE, count + 10));
      const page = await this.read({ limit, cursor });
      read.unshift(...page.content);
      cursor = page.header.next ?? undefined;
    } while (cursor !== undefined && read.length > 0 && read[0].seq > first);
    return read;
  }

  /** Add messages as they are now stored; of those with one id the given one counts. */
  merge(given, changes = {}) {
    const all = new Map(this.state.messages.map((message) => [message.id, message]));
    for (const message of given) all.set(message.id, message);
    this.change({ ...changes, messages: [...all.values()].sort((one, other) => one.seq - other.seq) });
  }

  send(content) {
    const after = this.state.messages.at(-1)?.seq ?? 0;
    const entry = { key: newKey(), id: null, content, after, text: "", state: "working", error: null };
    this.change({ runs: [...this.state.runs, entry] });
    this.follow(entry);
  }

  follow(entry) {
    this.lane.run(entry, (done) => this.start(entry, done));
    this.hold();
  }

  start(entry, done) {
    const { key } = entry;
    const over = (tell) => {
      this.stops.delete(key);
      tell();
      done();
      this.endIfLeft();
    };
    const stop = followRun({
      user: this.user,
      body: { target: this.target, content: entry.content },
      key,
      run: entry.id,
      on: {
        begun: (id) => this.changeRun(key, { id, unreached: false }),
        unreached: () => this.changeRun(key, { unreached: true }),
        text: (text) => this.changeRun(key, { text }),
        ended: (messages) => over(() => this.ended(key, messages)),
        failed: (error) => over(() => this.failed(key, error)),
      },
    });
    this.stops.set(key, stop);
    this.hold();
  }

  changeRun(key, changes) {
    this.change({ runs: this.state.runs.map((run) => (run.key === key ? { ...run, ...changes } : run)) });
  }

  async ended(key, messages) {
    const reply = messages.at(-1);
    const last = this.state.messages.at(-1)?.seq ?? 0;
    const { found } = this.state.runs.find((run) => run.key === key);
    const runs = this.state.runs.filter((run) => run.key !== key);
    this.merge(messages, { runs, done: this.state.done || this.state.messages.length === 0 });
    this.change({ said: `${reply.name}: ${reply.content}` });
    this.onChat(reply);
    const isMissingSome = messages[0].seq > last + 1; // another window has sent them
    if (found || isMissingSome) await this.catchUp(reply); // whoever sent it may have sent more
  }

  /** Show why there is no reply; a chat that was stopped before its first word has its mark instead. */
  async failed(key, error) {
    const run = this.state.runs.find((known) => known.key === key);
    const isFoundAgain = ENDED.has(error.code) && run?.id != null; // its message is stored
    // before anything is awaited: the next session, which finds it, may begin meanwhile
    if (isFoundAgain) this.acts.drop(run);
    else if (!run?.cancelling) this.changeRun(key, { state: "failed", error });
    if (isLoggedOn(this.user)) {
      await this.refresh();
      if (isFoundAgain) await this.find();
    }
    if (run?.cancelling) this.acts.drop(run);
    this.onChat(null);
    this.endIfLeft();
  }

  async cancel(run) {
    this.changeRun(run.key, { cancelling: true });
    try {
      let pause = ARRIVES_MS;
      for (let now = run; now !== undefined && !this.closed; now = this.atWork(run.key)) {
        const id = now.id ?? (await this.idOf(now));
        if (id !== null) return await route("POST", `/api/runs/${id}/cancel`);
        await wait(pause); // its message is still on the way, or waits for others
        pause *= 2; // each look is a request of the user's day
      }
    } catch {
      // Stop can be tried again.
    }
    return this.changeRun(run.key, { cancelling: false });
  }

  atWork(key) {
    return this.state.runs.find((run) => run.key === key && run.state === "working");
  }

  /** Find the id of a run that is silent so far: its answer has begun with no header, but its message is stored. */
  async idOf(run) {
    const { content } = await this.read({ limit: PAGE });
    const others = new Set(this.state.runs.map(({ id }) => id));
    const answered = new Set(content.filter(({ role }) => role === "agent").map(({ seq }) => seq - 1));
    const waiting = content.filter((message) => message.role === "user" && message.mark === null && !answered.has(message.seq));
    const isOwn = (message) => message.seq > run.after && message.content === run.content && !others.has(runOf(message));
    const own = waiting.findLast(isOwn);
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
