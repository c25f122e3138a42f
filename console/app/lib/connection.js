import { createStore } from "./store.js";

const store = createStore(false);
const broken = new Set();

/** What knows that the gateway can't be reached: requests and streams, each under a name of its own. */
export const connection = {
  lost(source) {
    broken.add(source);
    store.set(true);
  },
  back(source) {
    broken.delete(source);
    store.set(broken.size > 0);
  },
  isLost: () => broken.size > 0,
  /** Return whether something that the page needs is cut off. */
  useLost: () => store.use(),
};
