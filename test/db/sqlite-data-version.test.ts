import { Database as SqliteConnection } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { tempFolder } from "../support/node.ts";

const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

test("the version of a SQLite database changes with a commit of its own at once, with another's in the next tick", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.db");
  const settings = {
    ...settingsFor(`sqlite://${path}?mode=rwc`),
    timeout_ms: 10_000,
    max_connections: 4,
  };
  await using stack = new AsyncDisposableStack();
  const database = await openDatabase(settings, new LogHub(), { create: true });
  stack.defer(() => database.close());
  const put = (key: string) =>
    database.kv.change("n", { keys: [] }, () => ({ write: new Map([[key, 1]]), result: undefined }));

  const first = database.dataVersion;
  expect(database.dataVersion).toBe(first);
  await nextTick();
  expect(database.dataVersion).toBe(first);

  // No tick passes between the commit and the question: nothing here waits for the event loop.
  await put("own");
  const second = database.dataVersion;
  expect(second).not.toBe(first);

  using other = new SqliteConnection(path);
  other.run("UPDATE kv SET value = '2'");
  await nextTick();
  expect(database.dataVersion).not.toBe(second);
});
