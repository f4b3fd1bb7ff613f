/** Size of the drawing; CSS stretches it. */
const width = 100;
const height = 28;

interface SparklineProps {
  /** Values in the order of time; undefined where nothing was measured, which leaves a gap. */
  readonly values: ReadonlyArray<number | undefined>;
  /** Accessible name with the facts, such as "Requests in the last hour: 120 to 480 a minute". */
  readonly label: string;
  /** Upper end of the scale; the largest value if it is left out. The lower end is 0. */
  readonly max?: number;
}

/** Small line of a value over time, without axes. */
export function Sparkline({ values, label, max }: SparklineProps) {
  const top = Math.max(max ?? 0, ...values.map((value) => value ?? 0)) || 1;
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const point = (value: number, at: number) =>
    `${round(at * step)},${round(height - 1 - (Math.max(value, 0) / top) * (height - 2))}`;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {runsOf(values).map(({ start, run }) => {
        const line = run.map((value, at) => point(value, start + at)).join(" ");
        const end = round((start + run.length - 1) * step);
        return (
          <g key={start}>
            <polygon points={`${round(start * step)},${height} ${line} ${end},${height}`} />
            <polyline points={line} />
          </g>
        );
      })}
    </svg>
  );
}

/** Parts of the values without a gap. */
function runsOf(values: SparklineProps["values"]) {
  const runs: { readonly start: number; readonly run: number[] }[] = [];
  values.forEach((value, at) => {
    if (value === undefined) return;
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.run.length === at) last.run.push(value);
    else runs.push({ start: at, run: [value] });
  });
  return runs;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
