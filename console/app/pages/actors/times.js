import { duration } from "../../lib/format.js";

/** Format seconds: 0.4 s, 12 s, 3 min, 2 h 5 min. */
export const age = (seconds) => duration(Math.max(seconds, 0) * 1000);
