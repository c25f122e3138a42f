import { createStore } from "../../lib/store.js";
import { keepInTab, readTab } from "../../lib/tab-storage.js";

const KEPT_S = 3600;
const MARKS = "parley.marks";

/** What the live page has seen since it was first opened: {points, marks}; points are kept for an hour.
 *
 * A point is {at: seconds, all: figures, nodes: {name: figures}}, figures as GET /debug/stream sends them. Marks are
 * kept for as long as the window is open, so that a reload of the page doesn't lose the beginning of a run.
 */
export const history = createStore({ points: [], marks: JSON.parse(readTab(MARKS) ?? "[]") });

/** Add an event of /debug/stream. */
export function addFigures(figures) {
  const { nodes, ...all } = figures;
  const at = Date.parse(figures.at) / 1000;
  const named = Object.fromEntries((nodes ?? []).map((node) => [node.name || node.node, node]));
  const { points, marks } = history.get();
  const kept = points.filter((point) => point.at > at - KEPT_S && point.at < at);
  history.set({ points: [...kept, { at, all, nodes: named }], marks });
}

/** Add a mark such as "run 7 starts" at the newest point. */
export function addMark(label) {
  const { points } = history.get();
  setMarks([...history.get().marks, { at: points.at(-1)?.at ?? Date.now() / 1000, label }]);
}

/** Take all marks away. */
export const clearMarks = () => setMarks([]);

function setMarks(marks) {
  keepInTab(MARKS, JSON.stringify(marks));
  history.set({ ...history.get(), marks });
}

/** Return the figures of one node at a point, or of all; undefined if the node was not there. */
export const figuresOf = (point, node) => (node ? point.nodes[node] : point.all);

/** Return the names of services that had requests at these points, the busiest first. */
export function servicesOf(points, node) {
  const totals = new Map();
  for (const point of points) {
    for (const [service, { rate }] of Object.entries(figuresOf(point, node)?.services ?? {})) {
      totals.set(service, (totals.get(service) ?? 0) + rate);
    }
  }
  return [...totals].sort(([, one], [, other]) => other - one).map(([service]) => service);
}
