import { clock } from "../lib/format.js";
import { html, useEffect, useRef } from "../lib/preact.js";
import { colour, onColours } from "../lib/theme.js";

const COLOURS = ["--chart-1", "--chart-2", "--chart-3", "--chart-4", "--chart-5", "--chart-6"];
let library = null;

/** A chart over time: `data` is [seconds, values of the first series, ...] as uPlot has it, null for gaps.
 *
 * `series` is [{label, format?}], `marks` [{at: seconds, label}] are lines over all of it, `sync` a name that charts
 * with one cursor share. The time axis has `span` seconds up to the newest value, also while there are fewer. Charts
 * with a `label` are read out by it; numbers must stand beside them as text, too.
 */
export function Chart({ label, data, series, span, marks = [], height = 180, sync, format = String }) {
  const place = useRef(null);
  const chart = useRef(null);
  const latest = useRef(null);
  latest.current = { data, span, marks };

  useEffect(() => {
    let stopped = false;
    let stops = [];
    const draw = (uPlot) => {
      chart.current?.destroy();
      const size = { width: place.current.clientWidth || 300, height };
      const options = optionsFor({ ...size, series, sync, format, span: () => latest.current.span, marks: () => latest.current.marks });
      chart.current = new uPlot(options, latest.current.data, place.current);
      showNewest(chart.current);
    };
    loadLibrary().then((uPlot) => {
      if (stopped) return;
      draw(uPlot);
      const resized = new ResizeObserver(([entry]) =>
        chart.current.setSize({ width: Math.floor(entry.contentRect.width), height }));
      resized.observe(place.current);
      stops = [onColours(() => draw(uPlot)), () => resized.disconnect()];
    });
    return () => {
      stopped = true;
      for (const stop of stops) stop();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [series.map((line) => line.label).join("\n"), height, sync]);

  useEffect(() => {
    chart.current?.setData(data);
    showNewest(chart.current);
  }, [data, span, marks]);

  return html`<figure class="chart" aria-label=${label}><div ref=${place}></div></figure>`;
}

/** Without a cursor over it, the legend shows the newest values. */
function showNewest(chart) {
  if (chart && chart.cursor.idx == null && chart.data[0].length > 0) chart.setLegend({ idx: chart.data[0].length - 1 });
}

/** uPlot is loaded with the first chart. */
function loadLibrary() {
  library ??= import("../../vendor/uplot/uPlot.esm.js").then((module) => module.default);
  return library;
}

function optionsFor({ width, height, series, sync, format, span, marks }) {
  const axis = { stroke: colour("--text-quiet"), grid: { stroke: colour("--line-soft"), width: 1 }, ticks: { show: false } };
  const font = "11px system-ui, sans-serif";
  return {
    width,
    height,
    cursor: { y: false, points: { size: 6 }, ...(sync ? { sync: { key: sync } } : {}) },
    legend: { live: true },
    scales: { x: { range: (drawn, first, last) => rangeOf(drawn.data[0], first, last, span()) }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, font, size: 28, values: (_, ticks) => ticks.map((at) => clock(at)) },
      { ...axis, font, size: 56, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      { label: "Time", value: (_, at) => (at == null ? "–" : clock(at)) },
      ...series.map((line, index) => ({
        label: line.label,
        stroke: colour(line.colour ?? COLOURS[index % COLOURS.length]),
        width: 1.5,
        points: { show: false },
        value: (_, value) => (value == null ? "–" : (line.format ?? format)(value)),
      })),
    ],
    hooks: { draw: [(drawn) => drawMarks(drawn, marks(), font)] },
  };
}

/** All values stand in the last `span` seconds; what a mouse has marked is shown as it is. */
function rangeOf(seconds, first, last, span) {
  const newest = seconds.at(-1);
  return first > seconds[0] || last < newest ? [first, last] : [newest - span, newest];
}

function drawMarks(chart, marks, font) {
  const { ctx, bbox } = chart;
  const scale = globalThis.devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("--accent-text");
  ctx.lineWidth = scale;
  ctx.textAlign = "left";
  ctx.setLineDash([4 * scale, 3 * scale]);
  ctx.font = font.replace("11px", `${11 * scale}px`);
  for (const { at, label } of marks) {
    const x = chart.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(label, x + 4 * scale, bbox.top + 12 * scale);
  }
  ctx.restore();
}
