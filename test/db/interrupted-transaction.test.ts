import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const { method } = declareOver<Services>();

const fileOf = (node: TestNode) => join(node.folder, "data/node.db");

/** Moves the database's file away between the BEGIN and the COMMIT of a transaction. */
const methods = {
  test_interrupt: method({
    effect: "reads",
    doc: "Moves the database's file away in the middle of a transaction.",
    need: anyone,
    params: { path: z.string() },
    result: z.unknown(),
    run: ({ database }, { path }) =>
      database.kv.change("test", { keys: [] }, () => {
        renameSync(path, `${path}.moved`);
        return { write: new Map([["interrupted", 1]]), result: null };
      }),
  }),
};

test("after a transaction that a missing SQLite file interrupted, single writes are durable and the transaction is undone", async () => {
  await using node = await testNode({ methods });
  const { superToken: token } = node;
  const victim = await node.newToken([]);
  const path = fileOf(node);
  expect(await node.refused("test_interrupt", { path })).toMatchObject({
    code: 103,
    data: { reason: "unavailable" },
  });
  await rename(`${path}.moved`, path);
  await until("calls succeed again", async () =>
    (await node.send("token_get", { token })).error === undefined ? true : undefined,
  );

  const made = await node.newToken([]);
  expect(await node.call("token_get", { token: made })).toMatchObject({ username: null });
  const [key] = victim.split(":");
  expect(await node.call("token_delete", { token, target_token: key })).toMatchObject({ rows_affected: 1 });
  expect(await node.refused("token_get", { token: victim })).toMatchObject({ code: 102 });

  using other = new SqliteFile(path, { readwrite: true });
  const keys = other
    .query<{ token_key: string }, []>("SELECT token_key FROM token")
    .all()
    .map((row) => row.token_key);
  expect(keys.sort()).toEqual([token, made].map((text) => text.split(":")[0] ?? "").sort());
  expect(other.query("SELECT key FROM kv WHERE namespace NOT IN ('nodes', 'migrations')").all()).toEqual([]);
  // The server holds no lock on the file.
  other.run("PRAGMA busy_timeout = 0");
  other.run("DELETE FROM kv");
});
