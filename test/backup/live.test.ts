import { Database as SqliteFile } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { newHome } from "../support/process.ts";
import { until } from "../support/until.ts";
import { rowsOf } from "./support.ts";

const writesPerSecond = 200;

/** Writer commits transactions at a rate until it is stopped: each adds a row and sets two others to the number of rows. */
class Writer {
  written = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(commit: (number: number) => void | Promise<void>) {
    this.#done = this.#run(commit);
  }

  async #run(commit: (number: number) => void | Promise<void>): Promise<void> {
    for (const begin = performance.now(); !this.#stopped; ) {
      const due = ((performance.now() - begin) / 1000) * writesPerSecond;
      // Never more than a few in a row, so that a slow machine does not fall behind for ever.
      for (let count = 0; this.written < due && count < 10; count += 1) {
        await commit(this.written + 1);
        this.written += 1;
      }
      await Bun.sleep(2);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }
}

function openWriter(
  kind: DatabaseKind,
  url: string,
  path: string,
): { writer: Writer; close(): Promise<void> } {
  const statements = (number: number) => [
    `INSERT INTO crontab_result (cron_id, cron_name, message) VALUES (${number}, 'load', '${"x".repeat(300)}')`,
    `UPDATE kv SET value = '${number}' WHERE namespace = 'load' AND key = 'first'`,
    `UPDATE kv SET value = '${number}' WHERE namespace = 'load' AND key = 'second'`,
  ];
  if (kind === "sqlite") {
    const file = new SqliteFile(path);
    file.run("PRAGMA busy_timeout = 5000");
    const commit = (number: number) => {
      file.run("BEGIN IMMEDIATE");
      for (const statement of statements(number)) file.run(statement);
      file.run("COMMIT");
    };
    return { writer: new Writer(commit), close: async () => file.close() };
  }
  const sql = new SQL({ url, max: 1 });
  const commit = async (number: number) => {
    await sql.begin(async (transaction) => {
      for (const statement of statements(number)) await transaction.unsafe(statement);
    });
  };
  return { writer: new Writer(commit), close: () => sql.close() };
}

eachDatabase(
  "a backup taken during 200 writes a second restores to one moment, on either database",
  async (kind) => {
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    const server = await home.serve();
    // Read between the two counters and the rows that they count, and it takes longer than many writes.
    const filler = Array.from(
      { length: 4000 },
      (_, at) => `('filler', 'key-${at}', '"${"y".repeat(2000)}"')`,
    );
    await database.run(
      `INSERT INTO kv (namespace, key, value) VALUES ('load', 'first', '0'), ('load', 'second', '0'), ${filler.join()}`,
    );
    const { writer, close } = openWriter(kind, database.url, home.file("data/node.db"));
    await until("the writer is at work", () => writer.written > 50);
    const before = writer.written;
    const made = await home.runProcess(["backup", "live.tar.zst"]);
    const after = writer.written;
    await until("the writer goes on", () => writer.written > after + 20);
    expect({ code: made.code, stderr: made.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^Backup of [\d,]+ rows and 0 files written to /),
    });
    expect(await server.call("node-server_hello")).toBe("Node Server Is Running!");
    await writer.stop();
    await close();
    await server.stop();

    for (const target of ["sqlite", "postgres"] as const) {
      await using other = await newHome();
      const place = await newDatabase(target, other.path);
      await other.configure({}, place.url);
      const restored = await other.run(["restore", join(home.path, "live.tar.zst"), "--yes"]);
      expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
      const { kv = [], crontab_result = [] } = await rowsOf(place.url);
      const counters = kv
        .filter(([, namespace]) => namespace === "load")
        .map(([, , , value]) => Number(value));
      expect(counters).toEqual([crontab_result.length, crontab_result.length]);
      expect(crontab_result.map(([, number]) => number)).toEqual(crontab_result.map((_, at) => at + 1));
      expect(crontab_result.length).toBeGreaterThanOrEqual(before);
      expect(crontab_result.length).toBeLessThanOrEqual(after + 1);
      // The next row gets a new id. PostgreSQL's sequence may be ahead of the snapshot.
      await place.run("INSERT INTO crontab_result (cron_id, cron_name) VALUES (0, 'next')");
      const next = Number((await rowsOf(place.url)).crontab_result?.at(-1)?.[0]);
      if (kind === "sqlite") expect(next).toBe(crontab_result.length + 1);
      else expect(next).toBeGreaterThan(crontab_result.length);
      const again = await other.serve({
        env: { NODE_SERVER_SUPER_TOKEN: "unused:unusedunusedunusedunused" },
      });
      expect(await again.call("node-server_read_config", { token: server.superToken })).toContain(
        "database_url",
      );
      await again.stop();
      await place.drop();
    }
    await database.drop();
  },
);
