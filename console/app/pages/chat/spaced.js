import { useCallback, useEffect, useRef } from "../../lib/preact.js";

/** Return a function that calls `act` at once, then at most every `ms` however often it is called; none is lost. */
export function useSpaced(ms, act) {
  const latest = useRef(act);
  latest.current = act;
  const turn = useRef({ timer: null, again: false });
  useEffect(() => () => clearTimeout(turn.current.timer), []);
  return useCallback(() => {
    const now = turn.current;
    if (now.timer !== null) {
      now.again = true;
      return;
    }
    const rest = () => {
      now.timer = null;
      if (now.again) run();
    };
    const run = () => {
      now.again = false;
      now.timer = setTimeout(rest, ms);
      latest.current();
    };
    run();
  }, [ms]);
}
