import { useCallback, useEffect, useRef, useState } from "./preact.js";

/** Load data for a page: useLoad(() => command(...), [name]) -> {data, error, loading, reload, setData}.
 *
 * It loads anew when `keys` change; data of the keys before is dropped, that of a reload stays until the new is there.
 */
export function useLoad(load, keys = []) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const turn = useRef(0);
  const latest = useRef(load);
  latest.current = load;

  const reload = useCallback(async () => {
    const mine = ++turn.current;
    setState((before) => ({ ...before, loading: true }));
    try {
      const data = await latest.current();
      if (mine === turn.current) setState({ data, error: null, loading: false });
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error, loading: false }));
    }
  }, []);

  useEffect(() => {
    setState({ data: null, error: null, loading: true });
    reload();
    return () => {
      turn.current += 1;
    };
  }, keys);

  const setData = useCallback((data) => setState((before) => ({ ...before, data })), []);
  return { ...state, reload, setData };
}

/** Run an action at a click: useAction(async (...) => ...) -> {run, busy, error, clear}; a second click waits. */
export function useAction(act) {
  const [state, setState] = useState({ busy: false, error: null });
  const latest = useRef(act);
  latest.current = act;
  const running = useRef(false);
  const mounted = useRef(true);
  useEffect(() => () => {
    mounted.current = false;
  }, []);

  const run = useCallback(async (...given) => {
    if (running.current) return undefined;
    running.current = true;
    setState({ busy: true, error: null });
    let error = null;
    try {
      return await latest.current(...given);
    } catch (failure) {
      error = failure;
      return undefined;
    } finally {
      running.current = false;
      if (mounted.current) setState({ busy: false, error });
    }
  }, []);

  const clear = useCallback(() => setState({ busy: false, error: null }), []);
  return { ...state, run, clear };
}

/** Call a function every `ms` while the page is visible and the component is there. */
export function useEvery(ms, act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** Return a value once it has not changed for `ms`, for fields that search as one types. */
export function useSettled(value, ms = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Return a function that calls `act` at once, but at most every `ms`: calls in between are one, at the end. */
export function useCoalesced(act, ms = 1000) {
  const latest = useRef(act);
  latest.current = act;
  const state = useRef({ timer: null, again: false });
  useEffect(() => () => {
    clearTimeout(state.current.timer);
    state.current.timer = null;
  }, []);
  return useCallback(function run() {
    if (state.current.timer !== null) {
      state.current.again = true;
      return;
    }
    latest.current();
    state.current.timer = setTimeout(() => {
      const { again } = state.current;
      state.current = { timer: null, again: false };
      if (again) run();
    }, ms);
  }, [ms]);
}
