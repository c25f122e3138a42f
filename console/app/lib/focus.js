import { useEffect, useRef } from "./preact.js";

/** Keep the focus in an element whose parts come and go: when what is focused in it vanishes, it is focused itself.
 *
 * Otherwise an act by keyboard that removes its own row would send its user back to the start of the page. Returns the
 * ref for the element, which needs a tabindex.
 */
export function useFocusKept() {
  const root = useRef(null);
  const inside = useRef(false);
  useEffect(() => {
    const enter = (event) => {
      inside.current = root.current?.contains(event.target) ?? false;
    };
    const leave = ({ target }) => setTimeout(() => {
      if (target.isConnected && document.activeElement === document.body) inside.current = false; // it was left, not removed
    });
    document.addEventListener("focusin", enter);
    document.addEventListener("focusout", leave);
    return () => {
      document.removeEventListener("focusin", enter);
      document.removeEventListener("focusout", leave);
    };
  }, []);
  useEffect(() => {
    if (!inside.current || document.activeElement !== document.body) return;
    root.current?.focus({ preventScroll: true });
  });
  return root;
}
