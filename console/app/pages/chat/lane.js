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
