import { createStore } from "./store.js";

const TOLD_AFTER_MS = 700; // a stream that is taken up again at once is nobody's concern

const store = createStore(false);
const broken = new Set();
const waiting = new Set();
let timer = null;

/** What knows that the gateway can't be reached: requests and streams, each under a name of its own. */
export const connection = {
  lost(source) {
    if (broken.size === 0) timer = setTimeout(() => store.set(true), TOLD_AFTER_MS);
    broken.add(source);
  },
  back(source) {
    broken.delete(source);
    if (broken.size > 0) return;
    clearTimeout(timer);
    store.set(false);
    for (const act of waiting) {
      waiting.delete(act);
      act();
    }
  },
  /** Call a function once, when the gateway is next reached; returns what forgets it. */
  whenBack(act) {
    waiting.add(act);
    return () => waiting.delete(act);
  },
  isLost: () => broken.size > 0,
  /** Return whether something that the page needs is cut off. */
  useLost: () => store.use(),
};
