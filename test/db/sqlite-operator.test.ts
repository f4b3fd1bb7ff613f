import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { getPriority } from "node:os";
import { Fault } from "../../src/base/fault.ts";
import type { ChannelKind } from "../../src/db/operator/sqlite/channel.ts";
import { endless, residentMiB, untilComputing } from "../support/sql.ts";
import { operatorOver, type Sql } from "../support/sqlite-operator.ts";
import { chosenFor, scaled, tier } from "../support/tier.ts";
import { until } from "../support/until.ts";

const channels = ["memory", "socket", "pipes"] as const;

/** A story over every channel; the fast tier takes the one that its title chooses. */
function eachChannel(
  title: string,
  tell: (sql: Sql) => Promise<void>,
  chosen: readonly ChannelKind[] = chosenFor(title, channels),
): void {
  for (const channel of chosen) {
    test(`${title} (${channel})`, async () => {
      await using sql = await operatorOver(channel);
      await tell(sql);
    });
  }
}

const messageOf = (error: Error) => error.message;
const reasonOf = (error: unknown) => (error instanceof Fault ? error.data.reason : error);

eachChannel("statements run with a lower priority than the server", async (sql) => {
  await sql.rows("SELECT 1");
  const children = await sql.children();
  expect(children.map((pid) => getPriority(pid))).toEqual(
    children.map(() => Math.min(getPriority() + 8, 19)),
  );
  expect(children).not.toEqual([]);
});

eachChannel(
  "requests and answers of every size arrive whole and in order",
  async ({ rows }) => {
    for (const length of [0, 1, 65_530, 65_536, 3_000_000]) {
      const value = "ü".repeat(length);
      expect(await rows("SELECT ? AS value", { params: [value] })).toEqual([{ value }]);
    }
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    const results = await Promise.all(numbers.map((n) => rows(`SELECT ${n} AS n`)));
    expect(results).toEqual(numbers.map((n) => [{ n }]));
  },
  channels,
);

eachChannel("a statement that does not end delays no other one", async ({ rows, children }) => {
  const leaving = new AbortController();
  let isRunning = true;
  const stopped = rows(endless("sqlite"), { signal: leaving.signal })
    .catch(reasonOf)
    .finally(() => {
      isRunning = false;
    });
  await until("the statement runs", async () => ((await children()).length === 1 ? true : undefined));
  for (let n = 0; n < 20; n += 1) expect(await rows(`SELECT ${n} AS n`)).toEqual([{ n }]);
  const bursts = await Promise.all(Array.from({ length: 30 }, (_, n) => rows(`SELECT ${n} AS n`)));
  expect(bursts).toEqual(Array.from({ length: 30 }, (_, n) => [{ n }]));
  expect(isRunning).toBe(true);
  leaving.abort();
  expect(await stopped).toBe("abandoned");
});

eachChannel(
  "at most four processes run; when all of them are stuck, the next statement gets the first that is replaced",
  async ({ rows, children }) => {
    const leaving = Array.from({ length: 4 }, () => new AbortController());
    const stuck = leaving.map(({ signal }) => rows(endless("sqlite"), { signal }).catch(reasonOf));
    const waiting = Promise.all(Array.from({ length: 20 }, (_, n) => rows(`SELECT ${n} AS n`)));
    let [most, isOver] = [0, false];
    const watching = until("it is over", async () => {
      most = Math.max(most, (await children()).length);
      return isOver;
    });
    await until("four run", () => most >= 4);
    const [first, ...others] = leaving;
    first?.abort();
    expect(await waiting).toEqual(Array.from({ length: 20 }, (_, n) => [{ n }]));
    for (const other of others) other.abort();
    for (const reason of await Promise.all(stuck)) expect(reason).toBe("abandoned");
    isOver = true;
    await watching;
    expect(most).toBe(4);
  },
);

eachChannel("a stopped request says how many of its statements were committed", async ({ rows, clock }) => {
  const sql = `CREATE TABLE t (a); INSERT INTO t VALUES (1); ${endless("sqlite")}`;
  await rows("SELECT 1");
  const { result } = await untilComputing(() =>
    rows(sql, { timeoutMs: 60_000 }).catch((error: unknown) => error),
  );
  await clock.advance(60_000);
  const error = await result;
  expect(error).toMatchObject({ kind: "DatabaseError", data: { limit: 60_000, kept: 2 } });
  expect(messageOf(error as Error)).toContain("60000 ms (sql_timeout_ms)");
  expect(await rows("SELECT a FROM t")).toEqual([{ a: 1 }]);
});

eachChannel(
  "an idle process that is suspended is replaced, and its statement runs",
  async ({ rows, children, clock }) => {
    await rows("SELECT 1 AS a");
    const [first = 0] = await children();
    process.kill(first, "SIGSTOP");
    // Its last answer is so long ago that it is asked whether it still answers.
    await clock.advance(100);
    expect(await rows("SELECT 2 AS a")).toEqual([{ a: 2 }]);
    await until("the suspended process is gone", async () =>
      (await children()).includes(first) ? undefined : true,
    );
  },
);

eachChannel("a closed operator ends what runs and what waits, and starts nothing", async (sql) => {
  const calls = Promise.allSettled(Array.from({ length: 6 }, () => sql.rows(endless("sqlite"))));
  await until("four run", async () => ((await sql.children()).length === 4 ? true : undefined));
  await sql[Symbol.asyncDispose]();
  for (const { status } of await calls) expect(status).toBe("rejected");
  expect(await sql.rows("SELECT 1").catch((error: Error) => error.message)).toContain("is being closed");
  expect(await sql.children()).toEqual([]);
});

test(scaled("queries of many different texts take no more memory than a few"), async () => {
  await using sql = await operatorOver("memory");
  const query = (n: number) =>
    sql.rows(`SELECT ${Array.from({ length: 200 }, (_, at) => `${n + at} AS c${at}`)}`);
  // If all were kept prepared, 700 would take more than 40 MiB.
  const [few, many] = tier === "fast" ? [200, 900] : [500, 2500];
  for (let n = 0; n < few; n += 1) await query(n);
  const [child = 0] = await sql.children();
  const before = await residentMiB(child);
  for (let n = few; n < many; n += 1) await query(n);
  expect(await sql.children()).toEqual([child]);
  expect((await residentMiB(child)) - before).toBeLessThan(40);
});

test("no descriptor stays open, in the server or in a process, however many statements and processes come and go", async () => {
  await using sql = await operatorOver("memory");
  const descriptors = async (pid: number) => (await readdir(`/proc/${pid}/fd`)).length;
  const round = async () => {
    for (let n = 0; n < 30; n += 1) {
      await sql.rows(`SELECT ${n} AS n`);
      await sql.rows("PRAGMA foreign_keys");
    }
  };
  await round();
  const [child = 0] = await sql.children();
  const before = await descriptors(child);
  await round();
  expect(await sql.children()).toEqual([child]);
  expect(await descriptors(child)).toBe(before);
  const own = await descriptors(process.pid);
  for (let n = 0; n < 5; n += 1) {
    const stopped = sql.rows(endless("sqlite"), { timeoutMs: 60_000 }).catch(() => {});
    await sql.clock.settle(stopped, 60_000);
    await sql.rows("SELECT 1 AS a");
  }
  await until("as many as before are open", async () =>
    (await descriptors(process.pid)) <= own ? true : undefined,
  );
});
