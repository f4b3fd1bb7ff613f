import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { SQL } from "bun";
import { type DatabaseKind, eachDatabase, newDatabase } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { type Home, hello, newHome, type Server, sendTo } from "../support/process.ts";
import { killsOf, randomFrom, repeatedTimeoutMs, roundsOf } from "../support/random.ts";
import { until } from "../support/until.ts";

const tables = [
  "crontab",
  "crontab_result",
  "db_registry",
  "dynamic_monitoring",
  "dynamic_monitoring_summary",
  "js_result",
  "js_worker",
  "kv",
  "monitoring_uuid",
  "seaql_migrations",
  "static_file",
  "static_monitoring",
  "task",
  "token",
];

/** Runs `round` so many times, three at once. */
async function rounds(count: number, round: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    [1, 2, 3].map(async () => {
      while (next < count) await round(next++);
    }),
  );
}

async function tableNames(kind: DatabaseKind, home: Home, url: string): Promise<string[]> {
  if (kind === "sqlite") {
    using file = new Database(home.file("data/node.db"), { readonly: true });
    expect(file.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const found = file.query(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    );
    return (found.all() as Array<{ name: string }>).map(({ name }) => name).sort();
  }
  await using sql = new SQL({ url, max: 1 });
  const found: Array<{ tablename: string }> = await sql`
    SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`;
  return found.map(({ tablename }) => tablename).sort();
}

async function isSuper(server: Server, token: string): Promise<boolean> {
  return token !== "" && (await server.send("token_list_all_tokens", [token])).error === undefined;
}

eachDatabase(
  "kill -9 during the first start never leaves a database that the next start cannot open",
  async (kind) => {
    const random = randomFrom(`first start on ${kind}`);
    const delays = Array.from({ length: killsOf(8) }, () => random() * 150);
    let orphans = 0;
    let interrupted = 0;
    await rounds(delays.length, async (number) => {
      await using home = await newHome();
      const database = await newDatabase(kind, home.path);
      await home.configure({}, database.url);
      const first = home.launch();
      // The last thing before the database is opened; starting the runtime alone would take longer than the delays.
      await until("the start has come to the database", () => existsSync(home.file("config.uuid")));
      await Bun.sleep(delays[number] ?? 0);
      first.signal("SIGKILL");
      await first.exited;
      if (!first.stderr.includes("listening on")) interrupted += 1;

      const second = await home.serve();
      expect(await tableNames(kind, home, database.url)).toEqual(tables);
      if (!(await isSuper(second, second.superToken || first.superToken))) {
        orphans += 1;
        const rolled = await home.run(["roll-super-token", "--yes"]);
        expect(await isSuper(second, /^Super Token: (\S+)$/m.exec(rolled.stdout)?.[1] ?? "")).toBe(true);
      }
      expect(await second.call("node-server_hello")).toBe(hello);
      second.signal("SIGKILL");
      await second.exited;
      await database.drop();
    });
    console.log(
      `${kind}: ${interrupted} of ${delays.length} starts were cut short; ${orphans} left a Super Token that was never shown`,
    );
  },
  repeatedTimeoutMs,
);

eachDatabase(
  "kill -9 in a storm of token_create loses no token that was answered",
  async (kind) => {
    const random = randomFrom(`storm on ${kind}`);
    const delays = Array.from({ length: killsOf(3) }, () => 20 + random() * 200);
    await rounds(delays.length, async (number) => {
      await using home = await newHome();
      const database = await newDatabase(kind, home.path);
      await home.configure({}, database.url);
      const first = await home.serve();
      const { superToken } = first;
      const answered: string[] = [];
      const clients = Promise.allSettled(
        Array.from({ length: 8 }, async () => {
          while (first.alive) answered.push(await first.newToken(superToken));
        }),
      );
      await until("the storm has begun", () => answered.length > 0);
      await Bun.sleep(delays[number] ?? 0);
      first.signal("SIGKILL");
      await first.exited;
      await clients;

      const second = await home.serve();
      expect(await tableNames(kind, home, database.url)).toEqual(tables);
      for (const token of answered) {
        expect(await second.send("token_get", [token])).toHaveProperty(
          "result.token_key",
          token.split(":")[0],
        );
      }
      expect(await isSuper(second, superToken)).toBe(true);
      second.signal("SIGKILL");
      await second.exited;
      await database.drop();
    });
  },
  repeatedTimeoutMs,
);

test(
  "two servers that start at the same moment on one empty PostgreSQL both come up; one shows the credentials, both accept them",
  async () => {
    for (let round = 0; round < roundsOf(3); round += 1) {
      const database = await newPostgresDatabase();
      await using one = await newHome({}, database.url);
      await using two = await newHome({}, database.url);
      const servers = [one.launch(), two.launch()];
      await Promise.all(servers.map((server) => server.ready()));
      const shown = servers.map(({ stdout }) => stdout).join("");
      expect(shown).toMatch(/^Super Token: \S+\nRoot Password: \S+\n$/);
      const [, token = "", password = ""] = /Super Token: (\S+)\nRoot Password: (\S+)/.exec(shown) ?? [];
      for (const server of servers) {
        expect(await isSuper(server, token)).toBe(true);
        expect(await isSuper(server, `root|${password}`)).toBe(true);
      }
      expect(await tableNames("postgres", one, database.url)).toEqual(tables);
      const made = await Promise.all(servers.map((server) => server.newToken(token)));
      for (const server of servers) {
        for (const text of made)
          expect(await sendTo(server.url, "token_get", [text])).toHaveProperty("result");
      }
      for (const server of servers) server.signal("SIGKILL");
      await Promise.all(servers.map((server) => server.exited));
      await database.drop();
    }
  },
  repeatedTimeoutMs,
);
