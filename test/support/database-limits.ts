import { readFile, writeFile } from "node:fs/promises";
import { longTimeoutMs } from "./database-settings.ts";
import type { TestNode } from "./node.ts";
import { until } from "./until.ts";

/** Gives a server on PostgreSQL this limit by a reload, because a start under a short one may fail. */
export async function limitDatabase(
  { node, configPath }: TestNode,
  timeoutMs = longTimeoutMs,
): Promise<void> {
  const text = await readFile(configPath, "utf8");
  await writeFile(configPath, text.replace(/^timeout_ms = .*$/m, `timeout_ms = ${timeoutMs}`));
  // The reload connects anew, under the new limit.
  await until("the limit is applied", async () => (await node.reload()) !== "refused");
}
