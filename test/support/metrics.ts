import type { TestNode } from "./node.ts";

/** The metrics of a server as its Super Token reads them, in Prometheus' text format. */
export async function metricsText({
  url,
  superToken,
}: Pick<TestNode, "url" | "superToken">): Promise<string> {
  const response = await fetch(`${url}/node/metrics`, { headers: { authorization: `Bearer ${superToken}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.text();
}

/** Values by name and labels as they are written: `name{a="b"}`. */
export function valuesIn(text: string): ReadonlyMap<string, number> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}

export async function metricsOf(node: Pick<TestNode, "url" | "superToken">) {
  const values = valuesIn(await metricsText(node));
  return (name: string) => values.get(name);
}
