// One chart over time; keeps its canvas and takes new points in place.
import { html, useEffect, useLayoutEffect, useRef } from "./view.js";
import uPlot from "./vendor/uplot.js";

const HEIGHT = 160;
// An axis of time is never shorter than this.
const LEAST_S = 60;
const COLOURS = ["--accent", "--back", "--good", "--done", "--warn"];

// From the first point to the last: of a single one the library would make a span of years.
export function spanOf(times) {
  const last = times.at(-1) ?? Date.now() / 1000;
  return [Math.min(times[0] ?? last, last - LEAST_S), last];
}

// The colour that a custom property stands for in the present theme.
function colour(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const MARKS = { restarted: "--warn", failed: "--bad", "failed checkpoint": "--bad", deployed: "--done", savepoint: "--accent", checkpoint: "--line-strong", ended: "--muted" };
const MOST_TICK = 6;

// What happened, as lines on the axis of time; checkpoints, which are many, as ticks at its foot.
function drawMarkers(plot, markers) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  for (const { at, kind } of markers) {
    const x = Math.round(plot.valToPos(at / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const isTick = kind === "checkpoint";
    ctx.beginPath();
    ctx.strokeStyle = colour(MARKS[kind] ?? "--muted");
    ctx.lineWidth = ratio * (isTick ? 1 : 1.5);
    ctx.setLineDash(isTick || kind === "deployed" ? [] : [3 * ratio, 3 * ratio]);
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x, isTick ? bbox.top + bbox.height - MOST_TICK * ratio : bbox.top);
    ctx.stroke();
  }
  ctx.restore();
}

// `times` in milliseconds; `series`: [{name, values}]; `show` turns a value into words; `top`: where the axis ends;
// `markers`: [{at, kind}].
export function Chart({ times, series, show, label, top, markers = [] }) {
  const box = useRef(null);
  const plot = useRef(null);
  const latest = useRef(null);
  const data = [times.map((at) => at / 1000), ...series.map((each) => each.values)];
  latest.current = data;
  const marks = useRef(markers);
  marks.current = markers;
  useLayoutEffect(() => {
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axisOf = () => ({ stroke: colour("--muted"), font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } });
    function make() {
      plot.current?.destroy();
      const axis = axisOf();
      plot.current = new uPlot({
        width: Math.max(120, box.current.clientWidth), height: HEIGHT, legend: { show: false }, hooks: { draw: [(own) => drawMarkers(own, marks.current)] }, cursor: { y: false, points: { size: 6 } },
        scales: { x: { range: (own) => spanOf(own.data[0]) }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), top ?? ((high ?? 1) <= 0 ? 1 : (high ?? 1) * 1.1)] } },
        axes: [{ ...axis, size: 28, space: 72, values: (_, ticks) => ticks.map((each) => new Date(each * 1000).toLocaleTimeString("en-GB")) }, { ...axis, size: 64, values: (_, ticks) => ticks.map(show) }],
        series: [{}, ...series.map((each, index) => ({ label: each.name, stroke: colour(COLOURS[index % COLOURS.length]), width: index === 0 ? 2 : 1.25, dash: index === 0 ? undefined : [4, 3], points: { show: times.length < 3 } }))],
      }, latest.current, box.current);
    }
    make();
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(120, box.current.clientWidth), height: HEIGHT }));
    watcher.observe(box.current);
    addEventListener("funke-theme", make);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => { watcher.disconnect(); removeEventListener("funke-theme", make); dark.removeEventListener("change", make); plot.current?.destroy(); plot.current = null; };
  }, [series.map((each) => each.name).join()]);
  useEffect(() => { plot.current?.setData(data); }, [times.length, times.at(-1), markers.length]);
  const last = series.map((each) => `${each.name} ${show(each.values.at(-1))}`).join(", ");
  return html`<div class="plot" ref=${box} role="img" aria-label=${`${label ?? "Chart"}: now ${last}`} />`;
}
