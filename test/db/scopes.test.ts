import { expect, test } from "bun:test";
import { sql } from "kysely";
import type { Fault } from "../../src/base/fault.ts";
import { openDialect } from "../../src/db/database.ts";
import {
  bucketsScope,
  lockKey,
  namespaceScope,
  type Scope,
  schemaScope,
  storeScope,
  superTokenScope,
  taskScope,
} from "../../src/db/dialect.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, migratedDatabase, tempFolder } from "../support/node.ts";
import { until } from "../support/until.ts";

async function openDialects(
  kind: "sqlite" | "postgres",
  [oneMs, twoMs]: readonly [number, number] = [60_000, 60_000],
) {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const open = (timeout_ms: number) =>
    openDialect({ ...settingsFor(url), max_connections: 3, timeout_ms }, new LogHub());
  const dialects = kind === "sqlite" ? [await open(oneMs)] : [await open(oneMs), await open(twoMs)];
  for (const dialect of dialects) dialect.limitAnswers();
  const [one, two = one] = dialects;
  if (one === undefined || two === undefined) throw new TypeError("no dialect was opened");
  return {
    one,
    two,
    async [Symbol.asyncDispose]() {
      for (const dialect of dialects) await dialect.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

bothDatabases("changes of one scope take turns on all nodes", async (kind) => {
  await using dialects = await openDialects(kind);
  let running = 0;
  let most = 0;
  const change = (dialect: typeof dialects.one, scope: Scope) =>
    dialect.exclusively(scope, async () => {
      running += 1;
      most = Math.max(most, running);
      await Bun.sleep(2);
      running -= 1;
    });
  for (const scope of [bucketsScope, schemaScope, namespaceScope("a/locks")]) {
    const each = [dialects.one, dialects.two, dialects.one, dialects.two];
    await Promise.all(each.map((dialect) => change(dialect, scope)));
  }
  expect(most).toBe(1);
});

test("on PostgreSQL changes of different scopes do not wait for each other, and a change of the schema waits for all", async () => {
  await using dialects = await openDialects("postgres");
  const { one, two } = dialects;
  const end = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = one.exclusively(bucketsScope, async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  const others = [superTokenScope, storeScope, taskScope("care"), namespaceScope("a"), namespaceScope("b")];
  for (const scope of others) expect(await two.exclusively(scope, async () => "done")).toBe("done");
  const ended: string[] = [];
  const same = two.exclusively(bucketsScope, async () => void ended.push("buckets"));
  await Bun.sleep(50);
  expect(ended).toEqual([]);
  end.resolve();
  await Promise.all([holding, same]);
  const schemaEnd = Promise.withResolvers<void>();
  const schemaBegun = Promise.withResolvers<void>();
  const migrating = one.exclusively(schemaScope, async () => {
    schemaBegun.resolve();
    await schemaEnd.promise;
    ended.push("schema");
  });
  await schemaBegun.promise;
  const behind = two.exclusively(taskScope("care"), async () => void ended.push("task"));
  await Bun.sleep(50);
  schemaEnd.resolve();
  await Promise.all([migrating, behind]);
  expect(ended).toEqual(["buckets", "schema", "task"]);
});

test("a change fails as unavailable if another of its scope takes too long", async () => {
  await using dialects = await openDialects("postgres", [60_000, 1000]);
  const end = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = dialects.one.exclusively(bucketsScope, async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  // On a busy machine the deadline of the whole statement may pass first.
  await until("the wait for the lock is what took too long", async () => {
    const refused = (await dialects.two
      .exclusively(bucketsScope, async () => {})
      .catch((error: unknown) => error)) as Fault;
    expect(refused.data).toEqual({ reason: "unavailable" });
    return refused.detail?.includes("another change takes too long");
  });
  end.resolve();
  await holding;
});

test("PostgreSQL ends a transaction whose node has fallen silent, and the next one does not wait for it", async () => {
  await using dialects = await openDialects("postgres", [1000, 60_000]);
  const { one, two } = dialects;
  const begun = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const silent = one.exclusively(bucketsScope, async (transaction) => {
    begun.resolve();
    await changed.promise;
    await sql`select 1`.execute(transaction);
  });
  const failed = silent.catch((error: unknown) => error);
  await Promise.race([begun.promise, failed]);
  expect(await two.exclusively(bucketsScope, async () => "done")).toBe("done");
  changed.resolve();
  expect(((await failed) as Fault).data).toEqual({ reason: "unavailable" });
  await until("the silent one can change again", async () => {
    const tried = await one.exclusively(bucketsScope, async () => "again").catch(() => undefined);
    return tried === "again";
  });
});

test("the locks of scopes have the same numbers in every version", () => {
  const numbers = [superTokenScope, bucketsScope, storeScope, taskScope("care")].map(lockKey);
  expect(numbers.map(String)).toMatchInlineSnapshot(`
    [
      "-1312967217444908262",
      "-1253658486110537769",
      "-5854759243589740044",
      "476416669885015107",
    ]
  `);
  expect(new Set(numbers).size).toBe(4);
});
