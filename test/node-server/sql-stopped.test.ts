import { expect, test } from "bun:test";
import { SQL } from "bun";
import {
  type DatabaseKind,
  eachDatabase,
  migratedDatabase,
  type TestNode,
  testNode,
} from "../support/node.ts";
import { openRelay } from "../support/relay.ts";
import { endless, exec, rows, sqlChildrenOf } from "../support/sql.ts";
import { until } from "../support/until.ts";

const method = "node-server_exec_sql";

function ask(node: TestNode, sql: string, signal: AbortSignal): Promise<string> {
  return fetch(`${node.url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { token: node.superToken, sql },
    }),
    signal,
  }).then(
    (response) => response.text(),
    () => "left",
  );
}

/** An endless statement that shows that it has begun. */
function begun(kind: DatabaseKind, key: string): string {
  return `INSERT INTO kv (namespace, key, value) VALUES ('begun', '${key}', '{}'); ${endless(kind)}`;
}

/** Waits until so many have begun and so many of them run, and returns the processes: children, or those of PostgreSQL. */
async function running(
  node: TestNode,
  kind: DatabaseKind,
  expected: { readonly begun: number; readonly running: number },
): Promise<readonly number[]> {
  return until(`${expected.running} statements run`, async () => {
    await using client = new SQL(
      kind === "sqlite" ? { url: node.databaseUrl, readonly: true } : { url: node.databaseUrl, max: 1 },
    );
    const [row]: Array<{ n: number }> = await client.unsafe(
      "SELECT CAST(count(*) AS INT) AS n FROM kv WHERE namespace = 'begun'",
    );
    if (row?.n !== expected.begun) return undefined;
    if (kind === "sqlite") return sqlChildrenOf(process.pid);
    const sleeping = await sleepingBackends(client);
    return sleeping.length === expected.running ? sleeping : undefined;
  });
}

async function sleepingBackends(client: SQL): Promise<number[]> {
  const found: Array<{ pid: number }> = await client.unsafe(
    "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
  );
  return found.map(({ pid }) => pid);
}

/** Waits until these processes are gone. */
function ended(pids: readonly number[]): Promise<boolean> {
  return until(`the processes ${pids} are gone`, async () => {
    const alive = await Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/stat`).exists()));
    return !alive.includes(true);
  });
}

eachDatabase("a statement whose client leaves is stopped, over HTTP and over a WebSocket", async (kind) => {
  // No time limit stops it first.
  await using node = await testNode({ database: kind, databaseKeys: "sql_timeout_ms = 600000" });
  const left = new AbortController();
  // As many as run at once: one more waits, and leaves as well.
  const asked = ["1", "2", "3", "4"].map((key) => ask(node, begun(kind, key), left.signal));
  const processes = await running(node, kind, { begun: 4, running: 4 });
  asked.push(ask(node, begun(kind, "5"), left.signal));
  left.abort();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(["left"]));
  await ended(processes);
  expect(await rows(node, "SELECT key FROM kv WHERE namespace = 'begun' AND key = '5'")).toEqual([]);
  const socket = await node.socket();
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [node.superToken, begun(kind, "6")] }));
  const further = await running(node, kind, { begun: 5, running: 1 });
  await socket[Symbol.asyncDispose]();
  await ended(further);
});

test("a statement that reaches PostgreSQL after the request to cancel it is stopped too", async () => {
  const made = await migratedDatabase("postgres", "");
  const left = new AbortController();
  const ended = Promise.withResolvers<void>();
  // The client leaves while its second statement is on the way, so PostgreSQL gets the first request to cancel between the two.
  await using relay = await openRelay(Number(new URL(made.url).port), {
    filter(near) {
      let delayMs = 0;
      return {
        get delayMs() {
          return delayMs;
        },
        pass(of, bytes) {
          delayMs = of === "request" && bytes.includes(endless("postgres")) ? 1000 : 0;
          if (delayMs > 0) {
            near.once("close", () => ended.resolve());
            left.abort();
          }
          return bytes;
        },
      };
    },
  });
  const url = new URL(made.url);
  url.port = String(relay.port);
  {
    await using node = await testNode({ databaseUrl: url.href, databaseKeys: "sql_timeout_ms = 600000" });
    expect(await ask(node, begun("postgres", "1"), left.signal)).toBe("left");
    await ended.promise;
    await using client = new SQL({ url: made.url, max: 1 });
    await until("no statement runs", async () => (await sleepingBackends(client)).length === 0);
  }
  await made.drop();
});

eachDatabase("a table is browsed and a plan is shown by plain statements", async (database) => {
  await using node = await testNode({ database });
  const page = await exec(node, "SELECT * FROM token ORDER BY id LIMIT 1 OFFSET 0");
  expect(page).toMatchObject({ row_count: 1, truncated: false });
  const explain = database === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN";
  const plan = await rows(node, `${explain} SELECT * FROM token ORDER BY id LIMIT 1 OFFSET 0`);
  expect(JSON.stringify(plan)).toMatch(/token/i);
  if (database === "sqlite")
    expect((await rows(node, "EXPLAIN SELECT 1 FROM token")).length).toBeGreaterThan(3);
  else
    expect(JSON.stringify(await rows(node, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM token"))).toContain(
      "Plan",
    );
});
