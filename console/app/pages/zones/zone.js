import { command, newKey } from "../../lib/api.js";
import { openEvents } from "../../lib/events.js";
import { useEffect, useMemo, useRef, useState } from "../../lib/preact.js";
import { isLoggedOn, session } from "../../lib/session.js";
import { holdWindow } from "../../lib/unsent.js";
import { Lane } from "../chat/lane.js";
import { followRun } from "../chat/run.js";

const PAGE = 50;
const MAX_PAGE = 200;
const MAX_AT_A_TIME = 2;
const START = { messages: [], notes: [], posts: [], next: null, done: false, loading: true, error: null, said: "", ended: null };

/** A zone, followed live.
 *
 * Returns {messages (by seq), notes, posts, done, loading, error, said, ended, older, post, retry, drop, refresh}.
 * Notes are [{id, after: seq, text}] of members that join or leave, posts [{key, content, agent, text, state, error,
 * stored}] the user's own on their way. onMembership(membership) hears of members. `ended` is why the stream is over.
 */
export function useZone(domain, zone, onMembership) {
  const [state, setState] = useState(START);
  const latest = useRef(null);
  latest.current = onMembership;
  const followed = useMemo(() => new Zone({ domain, zone }, setState, (membership) => latest.current(membership)), [domain, zone]);
  useEffect(() => {
    followed.open();
    return () => followed.close();
  }, [followed]);
  return { ...state, ...followed.acts };
}

/** The zone that is shown, and own posts that failed in zones that were left: by user and zone. */
const shown = new Map();
const left = new Map();
const isFailed = ({ state }) => state === "failed";
const isNotStored = ({ stored }) => stored === null;

class Zone {
  constructor(target, setState, onMembership) {
    this.user = session().user;
    this.identity = `${this.user} ${JSON.stringify(target)}`;
    this.target = target;
    this.setState = setState;
    this.onMembership = onMembership;
    this.state = START;
    this.stops = new Map();
    this.posting = new Lane(1); // so that posts are stored in the order in which they were written
    this.asking = new Lane(MAX_AT_A_TIME);
    this.turns = new Map(); // what lets the next post be sent, for each asked one that is not stored yet
    this.closed = false;
    this.acts = {
      older: () => this.older(),
      post: (content, agent) => this.post(content, agent),
      retry: (post) => this.retry(post),
      drop: (post) => this.change({ posts: this.state.posts.filter(({ key }) => key !== post.key) }),
      refresh: () => this.refresh(),
    };
  }

  change(changes) {
    if (this.closed) return;
    this.state = { ...this.state, ...changes };
    this.setState(this.state);
    holdWindow(this, this.state.posts.some(isNotStored));
  }

  /** Follow the zone first and read its newest messages then, so that nothing falls between. */
  open() {
    let begun = false;
    this.closed = false;
    this.change({ ...START, posts: left.get(this.identity) ?? [] });
    this.keep([]);
    shown.set(this.identity, this);
    this.stops.set("stream", openEvents({
      method: "POST",
      path: session().bus,
      body: { service: "ZN_Stream", target: this.target },
      onEvent: ({ data }) => {
        if (!begun) this.load();
        begun = true;
        if (data !== null) this.take(data);
      },
      onState: (state, reason) => {
        if (state !== "ended") return;
        if (reason?.note) this.change({ loading: false, error: reason });
        else this.change({ ended: reason ?? "closed" });
      },
    }));
  }

  /** Leave the zone: what is not stored yet is sent all the same, and what fails waits for the user to come back. */
  async close() {
    this.closed = true;
    shown.delete(this.identity);
    for (const stop of this.stops.values()) stop();
    this.asking.rest();
    const unsent = [...this.state.posts.filter(({ key }) => this.turns.has(key)), ...this.posting.rest()];
    this.keep(this.state.posts.filter(isFailed));
    holdWindow(this, unsent.length > 0);
    for (const post of unsent) if (isLoggedOn(this.user)) await this.say(post, () => {});
    holdWindow(this, false);
  }

  /** Keep these posts until the zone is opened again. */
  keep(posts) {
    if (posts.length > 0) left.set(this.identity, posts);
    else left.delete(this.identity);
    holdWindow(this.identity, posts.some(isNotStored));
  }

  take({ type, message, membership }) {
    if (type === "membership") {
      this.note(membership);
      this.onMembership(membership);
      return;
    }
    this.merge([message]);
    if (message.role === "agent" || message.name !== this.user) this.change({ said: `${message.name}: ${message.content}` });
  }

  note({ agent, state }) {
    const words = { member: "joined", none: "left", invited: "was invited", banned: "was banned" };
    const text = `${agent} ${words[state] ?? state}`;
    const note = { id: `note ${this.state.notes.length} ${agent}`, after: this.state.messages.at(-1)?.seq ?? 0, text };
    this.change({ notes: [...this.state.notes, note] });
  }

  read(page) {
    return command("ZN_Read", { target: this.target, page });
  }

  older() {
    return this.state.loading || this.state.done ? undefined : this.load();
  }

  async load() {
    this.change({ loading: true, error: null });
    try {
      const page = await this.read({ limit: PAGE, cursor: this.state.next ?? undefined });
      this.merge(page.content, { next: page.header.next, done: page.header.next === null, loading: false });
    } catch (error) {
      this.change({ loading: false, error });
    }
  }

  /** Read anew all that is shown, because something in it was censored. */
  async refresh() {
    this.change({ said: "" });
    const { messages } = this.state;
    const newest = messages.at(-1)?.seq ?? 0;
    let after = (messages[0]?.seq ?? 1) - 1;
    try {
      while (after < newest) {
        const { content } = await this.read({ after, limit: MAX_PAGE });
        if (content.length === 0) return;
        this.merge(content);
        after = content.at(-1).seq;
      }
    } catch {
      // What is shown stays; the next hint reads again.
    }
  }

  /** Add messages as they are now stored. An own post that arrives is not shown as being on its way any more. */
  merge(given, changes = {}) {
    const all = new Map(this.state.messages.map((message) => [message.id, message]));
    let { posts } = this.state;
    for (const message of given) {
      if (!all.has(message.id)) posts = claimed(posts, message, this.user);
      all.set(message.id, message);
    }
    this.change({ ...changes, posts, messages: [...all.values()].sort((one, other) => one.seq - other.seq) });
    for (const { key, stored } of posts) if (stored !== null) this.endTurn(key);
  }

  post(content, agent) {
    const after = this.state.messages.at(-1)?.seq ?? 0;
    const post = { key: newKey(), content, agent, after, text: "", state: "sending", error: null, stored: null, answered: false };
    this.change({ posts: [...this.state.posts, post] });
    this.send(post);
  }

  /** Send a post; one that asks for a reply shows it as it is written, and holds up others until it is stored. */
  send(post) {
    this.posting.run(post, (done) => {
      if (!post.agent) return this.say(post, done);
      this.turns.set(post.key, done);
      return this.asking.run(post, (over) => this.ask(post, over));
    });
  }

  endTurn(key) {
    this.turns.get(key)?.();
    this.turns.delete(key);
  }

  commandOf({ key, content, agent }) {
    return { service: agent ? "AP_Chat" : "ZN_Post", target: { ...this.target, agent: agent || undefined }, content, key };
  }

  async say(post, done) {
    const { service, target, content, key } = this.commandOf(post);
    try {
      this.sent(key, (await command(service, { target, content }, { idempotencyKey: key })).content);
    } catch (error) {
      this.failed(post, error);
    } finally {
      done();
    }
  }

  /** Show a post as failed: where its zone is shown now, else when that is opened again. */
  failed(post, error) {
    const zone = shown.get(this.identity);
    const how = { state: "failed", error };
    if (zone === this) this.changePost(post.key, how);
    else if (zone) zone.change({ posts: [...zone.state.posts, { ...post, ...how }] });
    else this.keep([...(left.get(this.identity) ?? []), { ...post, ...how }]);
  }

  ask(post, done) {
    const { key, content, agent } = post;
    const over = (tell) => {
      this.stops.delete(key);
      tell();
      this.endTurn(key);
      done();
    };
    this.stops.set(key, followRun({
      user: this.user,
      body: { target: { ...this.target, agent }, content },
      key,
      on: {
        begun: () => this.endTurn(key),
        text: (text) => this.changePost(key, { text }),
        ended: (messages) => over(() => this.sent(key, messages)),
        failed: (error) => over(() => this.failed(post, error)),
      },
    }));
  }

  sent(key, messages) {
    this.change({ posts: this.state.posts.filter((post) => post.key !== key) });
    this.merge(messages);
  }

  changePost(key, changes) {
    this.change({ posts: this.state.posts.map((post) => (post.key === key ? { ...post, ...changes } : post)) });
  }

  /** Try again: under the same key where the gateway failed or was not reached, else anew. */
  retry(post) {
    const isSame = post.error.code === 0 || post.error.code >= 5000;
    this.acts.drop(post);
    if (!isSame) return this.post(post.content, post.agent);
    const again = { ...post, text: "", state: "sending", error: null };
    this.change({ posts: [...this.state.posts, again] });
    return this.send(again);
  }
}

/** Mark the first of the posts of `user` that a stored message is, or answers, so that neither is shown twice. */
function claimed(posts, message, user) {
  const isOwn = message.role === "user" && message.name === user;
  const isIt = (post) => message.seq > post.after && (isOwn
    ? post.stored === null && post.content === message.content
    : post.stored !== null && !post.answered && post.agent === message.name && post.text === message.content);
  const found = posts.find(isIt);
  const changes = isOwn ? { stored: message.id } : { answered: true };
  return found ? posts.map((post) => (post === found ? { ...post, ...changes } : post)) : posts;
}
