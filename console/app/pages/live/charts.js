import { Chart, Section } from "../../components/index.js";
import { bytes, compact, duration, number } from "../../lib/format.js";
import { html, useMemo } from "../../lib/preact.js";
import { countOf } from "./csv.js";
import { figuresOf, servicesOf } from "./history.js";

const BUSIEST = 4;
const perSecond = (value) => `${compact(value)}/s`;

/** The charts but those of services: title, lines {label: figures -> number}, and the format of the numbers. */
const CHARTS = [
  ["Event loop lag", { "Loop lag": (figures) => figures.loop_lag_ms }, duration],
  ["Store", { "Units waiting": (figures) => figures.units_waiting, "Commits/s": (figures) => figures.commits_s }, compact],
  ["Actors", { Actors: (figures) => countOf(figures.actors), "Stream readers": (figures) => figures.readers }, compact],
  ["Memory", { Resident: (figures) => figures.memory_bytes }, bytes],
  [
    "Webhook deliveries",
    {
      "Attempts/s": (figures) => figures.deliveries.attempts_s,
      "Failed/s": (figures) => figures.deliveries.failed_s,
      "In flight": (figures) => figures.deliveries.in_flight,
    },
    compact,
  ],
];

/** The charts of the points shown, the last `span` seconds, of one node or all. */
export function Charts({ points, span, marks, node, service }) {
  const busiest = useMemo(() => servicesOf(points, node).slice(0, BUSIEST).sort(), [points, node]);
  const rate = (name) => (figures) => figures.services[name]?.rate ?? 0;
  const ofService = (member) => (figures) => figures.services[service]?.[member] ?? null;
  const rates = { All: (figures) => figures.requests_s, ...Object.fromEntries(busiest.map((name) => [name, rate(name)])) };
  const shared = { points, span, marks, node };
  return html`<div class="charts">
    <${TimeChart} title="Requests" lines=${rates} format=${perSecond} ...${shared} />
    <${TimeChart} title=${service ? `Latency of ${service}` : "Latency"}
      lines=${{ p50: ofService("p50"), p99: ofService("p99") }} format=${duration} ...${shared} />
    ${CHARTS.map(([title, lines, format]) => html`<${TimeChart} key=${title} title=${title} lines=${lines} format=${format} ...${shared} />`)}
  </div>`;
}

function TimeChart({ title, lines, format, points, span, marks, node }) {
  const data = useMemo(() => {
    const seconds = points.map((point) => point.at);
    const values = (line) => points.map((point) => valueAt(point, node, line));
    return [seconds, ...Object.values(lines).map(values)];
  }, [points, node, title, Object.keys(lines).join()]);
  const series = Object.keys(lines).map((label) => ({ label, format }));
  return html`<${Section} title=${title}>
    <${Chart} label=${`${title} over time`} data=${data} series=${series} span=${span} marks=${marks} sync="live" format=${format} height=${150} />
  <//>`;
}

function valueAt(point, node, line) {
  const figures = figuresOf(point, node);
  return figures === undefined ? null : line(figures);
}

/** The newest figures as words and numbers. */
export function Tiles({ figures }) {
  const tiles = {
    "Requests/s": number(Math.round(figures.requests_s)),
    "Commits/s": number(Math.round(figures.commits_s)),
    "Units waiting": number(figures.units_waiting),
    "Loop lag": duration(figures.loop_lag_ms),
    Actors: number(countOf(figures.actors)),
    Memory: bytes(figures.memory_bytes),
    Readers: number(figures.readers),
    Deliveries: number(figures.deliveries.in_flight),
  };
  return html`<dl class="live-tiles">
    ${Object.entries(tiles).map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
