// Each entry of the history keeps how far its page was scrolled, so that Back leads to the same row. Browsers try that
// by themselves, but only at once, when the rows have not been loaded again.
const SETTLES_MS = 200;
const WAITS_MS = 10_000; // networks and machines may be slow
const ACTS = ["wheel", "touchstart", "pointerdown", "keydown"];

let timer = null;
let stop = null;

history.scrollRestoration = "manual";
addEventListener("scroll", () => {
  clearTimeout(timer);
  if (stop === null) timer = setTimeout(keepPlace, SETTLES_MS);
}, { passive: true });
addEventListener("popstate", restorePlace);
if (history.state?.y) restorePlace(); // after a reload

/** Keep the place of the page in its entry of the history. */
export function keepPlace() {
  clearTimeout(timer);
  history.replaceState({ ...history.state, y: scrollY }, "");
}

/** Scroll to the place of the entry whenever the page grows, until the user acts or everything should be there. */
function restorePlace() {
  clearTimeout(timer);
  stop?.();
  const y = history.state?.y ?? 0;
  const grown = new ResizeObserver(() => scrollTo(0, y));
  const end = () => {
    grown.disconnect();
    clearTimeout(limit);
    for (const act of ACTS) removeEventListener(act, end);
    stop = null;
  };
  const limit = setTimeout(end, WAITS_MS);
  for (const act of ACTS) addEventListener(act, end, { passive: true });
  stop = end;
  grown.observe(document.body);
}

/** Stop scrolling to a place, because another page follows. */
export const leavePlace = () => stop?.();
