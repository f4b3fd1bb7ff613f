import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { time } from "../../format.ts";
import { language, t } from "../../text/text.ts";
import { theme } from "../../theme.ts";
import type { Line, Measure } from "./model.ts";
import { formatValue, knownLines, lengthMs, lineValues, type Range, type Samples } from "./model.ts";

export interface ChartProps {
  readonly measure: Measure;
  readonly range: Range;
  readonly samples: Samples;
}

const height = 240;
/** Seconds between two times below the chart, which are shown in minutes: no two are the same. */
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360].map((minutes) => minutes * 60);
/** Colours of the lines, in their order. */
const lineColours = ["accent", "good", "warn", "code-keyword"] as const;

/** Chart of the lines of a measure over time. Under the mouse the legend shows the values of that time. */
export function Chart({ measure, range, samples }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const lines = knownLines(samples, measure);
  const lineIds = lines.map(({ id }) => id).join();
  const isDark = useDark();
  // Another theme, language, measure, range or set of lines needs a new plot; new values do not.
  useEffect(() => {
    if (box.current === null) return undefined;
    const made = new uPlot(
      optionsFor({ measure, range, lines }, box.current),
      dataOf(measure, samples, lines),
      box.current,
    );
    plot.current = made;
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width > 0 && width !== made.width) made.setSize({ width, height });
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      plot.current = undefined;
      made.destroy();
    };
  }, [measure, range, lineIds, isDark, language()]);
  useEffect(() => {
    plot.current?.setData(dataOf(measure, samples, lines));
  }, [samples]);
  return (
    <div
      ref={box}
      class="overview-plot"
      role="img"
      aria-label={summaryOf(measure, samples, lines)}
      // uPlot empties the legend when the mouse leaves.
      onMouseLeave={() => plot.current?.redraw(false)}
    />
  );
}

/** Without the mouse the legend shows the newest values. */
function showNewest(plot: uPlot): void {
  if ((plot.cursor.left ?? -1) < 0) plot.setLegend({ idx: plot.data[0].length - 1 });
}

/** Whether dark colours are shown, by choice or by the operating system. */
function useDark(): boolean {
  const [system] = useState(() => matchMedia("(prefers-color-scheme: dark)"));
  const [isSystemDark, setSystemDark] = useState(system.matches);
  useEffect(() => {
    const follow = () => setSystemDark(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  return theme.value === "dark" || (theme.value === "system" && isSystemDark);
}

function dataOf(measure: Measure, samples: Samples, lines: readonly Line[]): uPlot.AlignedData {
  return [samples.times.map((at) => at / 1000), ...lines.map((line) => lineValues(samples, measure, line))];
}

interface ChartSpec extends Pick<ChartProps, "measure" | "range"> {
  readonly lines: readonly Line[];
}

function optionsFor({ measure, range, lines }: ChartSpec, box: HTMLElement): uPlot.Options {
  const colour = (name: string) => colourOf(box, name);
  const axis = {
    stroke: colour("muted"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    font: `12px ${getComputedStyle(box).fontFamily}`,
  };
  const format = (value: number) => formatValue(value, measure.unit);
  return {
    width: Math.max(box.clientWidth, 200),
    height,
    hooks: { draw: [showNewest] },
    cursor: { drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      // The whole range, although a server that has just started has measured little of it.
      x: { range: (_, _first, last) => [(last ?? 0) - lengthMs[range] / 1000, last ?? 0] },
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.1] },
    },
    axes: [
      { ...axis, space: 60, incrs: timeSteps, values: (_, at) => at.map((second) => clock(second)) },
      { ...axis, size: 84, values: (_, at) => at.map(format) },
    ],
    series: [
      { label: t.overview.time, value: (_, second) => (second === null ? "–" : time(second * 1000)) },
      ...lines.map(({ id }, at): uPlot.Series => {
        const stroke = colour(lineColours[at] ?? "text");
        return {
          label: t.overview.lines[id],
          stroke,
          width: 1.5,
          ...(lines.length === 1 && { fill: colour("accent-soft") }),
          points: { show: false },
          value: (_, value) => (value === null || value === undefined ? "–" : format(value)),
        };
      }),
    ],
  };
}

function clock(second: number): string {
  return time(second * 1000).slice("2026-11-15 ".length, "2026-11-15 08:41".length);
}

/** The colour that a custom property has now. A canvas does not know `light-dark()`. */
function colourOf(box: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  box.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** summaryOf describes the chart in a sentence for screen readers. */
function summaryOf(measure: Measure, samples: Samples, lines: readonly Line[]): string {
  const parts = lines.map((line) => {
    const known = lineValues(samples, measure, line).filter((value) => value !== null);
    const format = (value: number) => formatValue(value, measure.unit);
    return t.overview.lineSummary({
      name: t.overview.lines[line.id],
      now: format(known.at(-1) ?? 0),
      low: format(Math.min(...known)),
      high: format(Math.max(...known)),
    });
  });
  return `${t.overview.measures[measure.id]}. ${parts.join(" ")}`;
}
