import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../src/log/hub.ts";
import { openNode } from "../src/node.ts";
import { type Line, type Pace, perSecond, printTable } from "./figures.ts";
import type { Bench } from "./servers.ts";

const secret = `bench:${crypto.randomUUID()}`;

/** What an event costs the one who logs it: unwanted, kept in memory, and sent to 1 and to 20 subscribers in another process. */
export async function log(_: Bench, { quick }: Pace): Promise<Line[]> {
  const events = quick ? 20_000 : 100_000;
  const folder = await mkdtemp(join(tmpdir(), "node-server-bench-log-"));
  const config = join(folder, "config.toml");
  const database = `sqlite://${join(folder, "node.db")}?mode=rwc`;
  await writeFile(
    config,
    `ws_listener = "127.0.0.1:0"\n[logging]\nlog_filter = "off"\nmemory_log_filter = "info"\n[database]\ndatabase_url = "${database}"\n`,
  );
  try {
    await using node = await openNode({
      configPath: config,
      workingDirectory: folder,
      env: { NODE_SERVER_SUPER_TOKEN: secret },
      show() {},
    });
    const logger = node.hub.logger("task");
    const rows: string[][] = [];
    const begin = performance.now();
    for (let at = 0; at < events * 10; at += 1) logger.trace("nobody wants this", { at });
    const unwanted = ((performance.now() - begin) * 1e6) / (events * 10);
    rows.push(["an event nobody wants", `${unwanted.toFixed(0)} ns`, "", ""]);
    for (const subscribers of [0, 1, 20]) {
      const readers = Bun.spawn(
        [process.execPath, join(import.meta.dir, "log-readers.ts"), node.url, secret, String(subscribers)],
        {
          stdout: "pipe",
          stdin: "pipe",
          stderr: "inherit",
        },
      );
      const told = readers.stdout.getReader();
      if (subscribers > 0) await told.read();
      const cost = await storm(logger, events);
      await Bun.sleep(500);
      readers.stdin.end();
      const heard = subscribers > 0 ? Number(new TextDecoder().decode((await told.read()).value)) : 0;
      await readers.exited;
      const share = subscribers > 0 ? `${Math.round((heard / (events * subscribers)) * 100)} %` : "";
      rows.push([
        `${subscribers} subscribers`,
        `${(cost * 1e6).toFixed(0)} ns`,
        perSecond(1000 / cost),
        share,
      ]);
    }
    printTable(
      `${events.toLocaleString("en-US")} log events, 100 at a time`,
      ["", "cost an event", "events", "heard"],
      rows,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return [];
}

/** Milliseconds an event, with everything it set off. */
async function storm(logger: Logger, events: number): Promise<number> {
  const begin = performance.now();
  for (let at = 0; at < events; at += 100) {
    for (let more = 0; more < 100; more += 1) logger.info("an event of a storm", { at: at + more });
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return (performance.now() - begin) / events;
}
