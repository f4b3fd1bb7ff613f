import { expect, test } from "bun:test";
import { SQL } from "bun";
import { PgSession, parsePgUrl } from "../../src/db/operator/postgres/session.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { postgresUrl } from "../support/postgres.ts";
import { helloAt } from "../support/process.ts";
import { openRelay } from "../support/relay.ts";
import { until } from "../support/until.ts";

/** Ends every backend that the server has on its database. */
async function endBackends(node: TestNode): Promise<number> {
  await using outside = new SQL({ url: node.databaseUrl, max: 1 });
  const rows = await outside.unsafe(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  return rows.length;
}

test("a server whose PostgreSQL connections are cut recovers by the next calls", async () => {
  await using node = await testNode({ database: "postgres", databaseKeys: "max_connections = 3\n" });
  const ask = () => node.send("token_get", { token: node.superToken });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([ask(), ask(), ask(), ask()]);
    expect(await endBackends(node)).toBeGreaterThan(0);
    const replies = [];
    for (let i = 0; i < 10; i += 1) replies.push(await ask());
    for (const { error } of replies.filter(({ error }) => error !== undefined)) expect(error?.code).toBe(103);
    // At most one failed call for each connection that was cut.
    expect(replies.slice(3).map(({ result }) => result)).toEqual(
      Array(7).fill(expect.objectContaining({ username: "root" })),
    );
    const crowd = await Promise.all(Array.from({ length: 20 }, ask));
    expect(crowd.filter(({ error }) => error !== undefined)).toEqual([]);
  }
});

test("a call whose connection is cut while its statement runs fails with 103, and leaves no connection stuck", async () => {
  await using node = await testNode({ database: "postgres", databaseKeys: "max_connections = 2\n" });
  await using outside = new SQL({ url: node.databaseUrl, max: 2 });
  const lock = await outside.reserve();
  await lock.unsafe("BEGIN");
  await lock.unsafe("LOCK TABLE token IN ACCESS EXCLUSIVE MODE");
  const stuck = [1, 2].map(() => node.send("token_get", { token: node.superToken }));
  await until("both calls wait for the lock", async () => {
    const [row] = await outside.unsafe("SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted");
    return row.n === 2;
  });
  await outside.unsafe("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted");
  for (const { error } of await Promise.all(stuck))
    expect(error).toMatchObject({ code: 103, data: { kind: "DatabaseError" } });
  await lock.unsafe("COMMIT");
  lock.release();
  const replies = [];
  for (let i = 0; i < 6; i += 1) replies.push(await node.send("token_get", { token: node.superToken }));
  expect(replies.slice(2).filter(({ error }) => error !== undefined)).toEqual([]);
});

test("a server that is stopped after its connections were cut stops all the same", async () => {
  await using node = await testNode({ database: "postgres" });
  await endBackends(node);
  await node.node.close();
  expect(await helloAt(node.url)).toBeUndefined();
});

test("a connection that PostgreSQL ends with the answer that opens it fails the statement, not the process", async () => {
  const database = new URL(await postgresUrl());
  const fields = [
    "SFATAL",
    "VFATAL",
    "C57P01",
    "Mterminating connection due to administrator command",
    "",
  ].join("\0");
  const ended = Buffer.concat([Buffer.from("E"), Buffer.alloc(4), Buffer.from(`${fields}\0`)]);
  ended.writeInt32BE(ended.length - 1, 1);
  const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
  await using relay = await openRelay(Number(database.port), {
    filter() {
      let isCut = false;
      return {
        get isCut() {
          return isCut;
        },
        pass(of, bytes) {
          isCut ||= of === "answer" && bytes.includes(ready);
          return isCut ? Buffer.concat([bytes, ended]) : bytes;
        },
      };
    },
  });
  database.hostname = "127.0.0.1";
  database.port = String(relay.port);
  const session = await PgSession.open(parsePgUrl(database.href), {}, 10_000);
  await until("the session has ended", () => session.hasEnded || undefined);
  await expect(session.query("SELECT 1")).rejects.toThrow();
});
