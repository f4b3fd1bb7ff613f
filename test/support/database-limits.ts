import { readFile, writeFile } from "node:fs/promises";
import { type DatabaseLimits, longLimits } from "./database-settings.ts";
import type { TestNode } from "./node.ts";
import { until } from "./until.ts";

/** Gives a server on PostgreSQL these limits by a reload, and the long ones for the rest: a start under short ones may fail. */
export async function limitDatabase(
  { node, configPath }: TestNode,
  limits: Partial<DatabaseLimits>,
): Promise<void> {
  let text = await readFile(configPath, "utf8");
  for (const [key, value] of Object.entries({ ...longLimits, ...limits }))
    text = text.replace(new RegExp(`^${key} = .*$`, "m"), `${key} = ${value}`);
  await writeFile(configPath, text);
  // The reload connects anew, under the new limits.
  await until("the limits are applied", async () => (await node.reload()) !== "refused");
}
