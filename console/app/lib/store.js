import { useEffect, useState } from "./preact.js";

/** A value that components follow: get(), set(value), subscribe(listener) -> stop(), and the hook use(). */
export function createStore(initial) {
  let value = initial;
  const listeners = new Set();
  const store = {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    use() {
      const [seen, setSeen] = useState(value);
      useEffect(() => {
        setSeen(() => store.get());
        return store.subscribe((next) => setSeen(() => next));
      }, []);
      return seen;
    },
  };
  return store;
}
