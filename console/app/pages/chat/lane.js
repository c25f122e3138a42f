import { command } from "../../lib/api.js";
import { isLoggedOn } from "../../lib/session.js";

/** Starts up to `max` things at a time, in order: browsers open six connections to a host, and streams hold theirs. */
export class Lane {
  constructor(max) {
    this.max = max;
    this.busy = 0;
    this.waiting = [];
  }

  /** Call start(done) as soon as there is room; done() makes room for the next. */
  run(item, start) {
    this.waiting.push({ item, start });
    this.next();
  }

  hasWaiting() {
    return this.waiting.length > 0;
  }

  /** Return the items that have not been started, and forget them. */
  rest() {
    return this.waiting.splice(0).map(({ item }) => item);
  }

  next() {
    while (this.busy < this.max && this.waiting.length > 0) {
      this.busy += 1;
      let over = false;
      this.waiting.shift().start(() => {
        if (over) return;
        over = true;
        this.busy -= 1;
        this.next();
      });
    }
  }
}

/** Send messages [{service, target, content, key}] of `user` one after the other, for a page that has been left. */
export async function sendAll(user, messages) {
  for (const { service, target, content, key } of messages) {
    if (!isLoggedOn(user)) return;
    try {
      await command(service, { target, content }, { idempotencyKey: key });
    } catch {
      // There is nobody to tell. The history shows what was stored.
    }
  }
}
