import { figuresOf, servicesOf } from "./history.js";

const COLUMNS = [
  ["requests_s", (figures) => figures.requests_s],
  ["loop_lag_ms", (figures) => figures.loop_lag_ms],
  ["units_waiting", (figures) => figures.units_waiting],
  ["commits_s", (figures) => figures.commits_s],
  ["actors", (figures) => countOf(figures.actors)],
  ["memory_bytes", (figures) => figures.memory_bytes],
  ["readers", (figures) => figures.readers],
  ["deliveries_in_flight", (figures) => figures.deliveries.in_flight],
  ["delivery_attempts_s", (figures) => figures.deliveries.attempts_s],
  ["delivery_failures_s", (figures) => figures.deliveries.failed_s],
];
const OF_SERVICE = ["rate", "p50", "p99"];

/** Return the number of all live actors. */
export const countOf = (actors) => Object.values(actors).reduce((sum, count) => sum + count, 0);

/** Write points as CSV (RFC 4180): a line a second and node, with the marks up to it and each service's figures. */
export function csvOf(points, marks) {
  const services = servicesOf(points).sort();
  const head = ["time", "node", "mark", ...COLUMNS.map(([name]) => name)];
  for (const service of services) head.push(...OF_SERVICE.map((name) => `${service}_${name}`));
  const marked = marks.map(({ at, label }) => ({ label, point: points.find((point) => point.at >= at) ?? points.at(-1) }));
  const lines = points.flatMap((point) => {
    const told = marked.filter((mark) => mark.point === point).map(({ label }) => label).join("; ");
    return ["", ...Object.keys(point.nodes)].map((node) => lineOf(point, node, told, services));
  });
  return [head, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function lineOf(point, node, told, services) {
  const figures = figuresOf(point, node);
  const of = (service) => OF_SERVICE.map((name) => figures.services[service]?.[name] ?? "");
  const values = COLUMNS.map(([, value]) => value(figures));
  return [new Date(point.at * 1000).toISOString(), node || "all", told, ...values, ...services.flatMap(of)];
}

/** Quote a cell where it needs it; a text that a spreadsheet would take for a formula gets an apostrophe. */
function quoted(value) {
  const text = typeof value === "string" && /^[=+\-@]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Have the browser save a text as a file. */
export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
