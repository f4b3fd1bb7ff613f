import { qualityIn } from "../base/numbers.ts";
import { Pacer } from "../base/turns.ts";
import type { Family, HistogramCounts, Labels, Sample } from "./family.ts";

/** Lines written before the time is looked at. */
const linesPerTimeCheck = 100;

/** Format is one of the two text formats that Prometheus reads. */
interface Format {
  readonly contentType: string;
  /** The name in the lines about a family. */
  familyName(family: Family): string;
  escapeHelp(text: string): string;
  /** An upper bound, as the value of the label `le`. */
  bound(value: number): string;
  readonly end: string;
}

/** `prometheusText` is version 0.0.4 of Prometheus' own format. */
export const prometheusText: Format = {
  contentType: "text/plain; version=0.0.4; charset=utf-8",
  familyName: ({ name }) => name,
  escapeHelp: (text) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n"),
  bound: String,
  end: "",
};

/** `openMetricsText` is OpenMetrics 1.0: a counter's family has no `_total`, bounds are written as floats, and the end is marked. */
export const openMetricsText: Format = {
  contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  familyName: ({ name, type }) => (type === "counter" ? name.replace(/_total$/, "") : name),
  escapeHelp: escapeValue,
  bound: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
  end: "# EOF\n",
};

/** `formatFor` chooses by an Accept header: OpenMetrics if it is preferred, else Prometheus' own format, which everybody reads. */
export function formatFor(accept: string | null): Format {
  const wanted = { openMetrics: 0, text: 0 };
  for (const item of accept?.split(",") ?? []) {
    const [type = "", ...params] = item.split(";").map((part) => part.trim().toLowerCase());
    const quality = qualityIn(params);
    if (type === "application/openmetrics-text") wanted.openMetrics = Math.max(wanted.openMetrics, quality);
    if (type === "text/plain") wanted.text = Math.max(wanted.text, quality);
  }
  return wanted.openMetrics > wanted.text ? openMetricsText : prometheusText;
}

/** `formatMetrics` writes the present values of all families. With many thousands of them, others get the event loop in between. */
export async function formatMetrics(families: Iterable<Family>, format: Format): Promise<string> {
  const lines: string[] = [];
  const pacer = new Pacer();
  for (const family of families) {
    const name = format.familyName(family);
    lines.push(`# HELP ${name} ${format.escapeHelp(family.help)}\n# TYPE ${name} ${family.type}\n`);
    if (family.type === "histogram")
      for (const sample of family.samples()) lines.push(histogramLines(family.name, sample, format));
    else
      for (const { labels, value } of family.samples()) {
        lines.push(`${family.name}${braced(labelText(labels))} ${numberText(value)}\n`);
        if (lines.length % linesPerTimeCheck === 0 && pacer.isDue) await pacer.nextTurn();
      }
  }
  lines.push(format.end);
  return lines.join("");
}

function histogramLines(name: string, { labels, value }: Sample<HistogramCounts>, format: Format): string {
  const text = labelText(labels);
  const prefix = text === "" ? "" : `${text},`;
  let total = 0;
  let lines = "";
  for (const [at, bound] of [...value.bounds, Number.POSITIVE_INFINITY].entries()) {
    total += value.counts[at] ?? 0;
    const le = Number.isFinite(bound) ? format.bound(bound) : "+Inf";
    lines += `${name}_bucket{${prefix}le="${le}"} ${total}\n`;
  }
  return `${lines}${name}_sum${braced(text)} ${numberText(value.sum)}\n${name}_count${braced(text)} ${total}\n`;
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(",");
}

function braced(text: string): string {
  return text === "" ? "" : `{${text}}`;
}

function escapeValue(text: string): string {
  return /[\\"\n]/.test(text)
    ? text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')
    : text;
}

/** A number as both formats write it. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
