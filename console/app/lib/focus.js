/** Keep the focus in the page: when its element is removed, the nearest region around it gets it, else the whole page.
 *
 * Otherwise an act by keyboard that removes its own button or row would send its user back to the start of the window.
 * A region is an element with a tabindex.
 */
export function keepFocus() {
  let around = []; // the element that has the focus, and all that it is in
  const isNowhere = () => document.activeElement === document.body;
  document.addEventListener("focusin", (event) => {
    around = event.composedPath();
  });
  document.addEventListener("focusout", ({ target }) => setTimeout(() => {
    if (target.isConnected && isNowhere()) around = []; // it was left, not removed
  }));
  const removed = new MutationObserver((changes) => {
    if (!isNowhere() || around.length === 0) return;
    const [held] = around;
    if (held.isConnected) {
      const isMoved = changes.some(({ removedNodes }) => [...removedNodes].some((node) => node.contains(held)));
      if (isMoved) held.focus({ preventScroll: true }); // as a row is that is sorted anew
      return;
    }
    const region = around.find((place) => place.isConnected && place.matches?.("[tabindex]"));
    (region ?? document.getElementById("main"))?.focus({ preventScroll: true });
  });
  removed.observe(document.body, { childList: true, subtree: true });
}
