import { expect } from "bun:test";
import { type AttackReport, callFrom, callText, framesOf, postOf, turnedAway } from "../support/attackers.ts";
import { frame, postHead } from "../support/hostile.ts";
import type { WireReply } from "../support/node.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 3000;
const otherAddress = "127.0.0.9";
/** For an innocent batch while others send batches, on a machine that may stand still for seconds. */
const maxBatchMs = 20_000;
const longPath = 9_900_000;
const [longPaths, batchSockets, batchesAtOnce, emptyObjects] = [24, 10, 60, 21_000];
const [reconnecting, blankRequests, tinyChunks, pingSockets, pingsAtOnce] = [4, 8, 1_000_000, 16, 2000];

const emptyBatch = `[${Array(emptyObjects).fill("{}").slice(0, 999)},${`[${Array(emptyObjects - 999).fill("{}")}]`}]`;

attackTest("refused calls with long params do not stay in the memory of the log", async () => {
  await using target = await WatchedServer.start({ logging: 'log_filter = "info"' });
  const call = callText("static-bucket-file_read", `["no:body","b","${"x".repeat(longPath)}"]`);
  await target.survives(`${longPaths} refused calls with a path of 10 MB`, async () => {
    for (let sent = 0; sent < longPaths; sent += 1)
      expect((await callFrom(otherAddress, target.server.url, call)).error?.code).toBe(102);
  });
});

attackTest(
  "batches of values that wait for their turn are counted by what they take when parsed",
  async () => {
    await using target = await WatchedServer.start();
    await target.survives(`${batchSockets} sockets of batches of empty objects`, async () => {
      await target.attack(attackMs, {
        websocket: true,
        connections: batchSockets,
        payload: framesOf(emptyBatch, batchesAtOnce),
        reads: false,
      });
    });
  },
);

attackTest("batches of others do not come before an innocent one", async () => {
  await using target = await WatchedServer.start();
  const hellos = Array.from({ length: 200 }, (_, id) => callText("node-server_hello", "[]", String(id)));
  await target.survives(`${batchSockets} sockets of batches`, async () => {
    await using attacker = await target.launch({
      websocket: true,
      connections: batchSockets,
      payload: framesOf(`[${hellos.join(",")}]`, batchesAtOnce),
      times: "endless",
    });
    await attacker.finished(attackMs / 2);
    const start = performance.now();
    const answers = await callFrom(otherAddress, target.server.url, `[${hellos.slice(0, 20).join(",")}]`);
    const waited = Math.round(performance.now() - start);
    await attacker.stop();
    console.log(`an innocent batch of 20 beside them took ${waited} ms`);
    expect([(answers as unknown as WireReply[]).length, waited < maxBatchMs]).toEqual([20, true]);
  });
});

attackTest("clients that connect anew for every request do not starve open connections", async () => {
  await using target = await WatchedServer.start();
  const body = callText("node-server_hello", `[${Array(15_000).fill("{}")}]`);
  await target.survives(`${reconnecting} clients that connect anew for 60 kB each`, async () => {
    const isEnough = ({ opened }: AttackReport) => opened > reconnecting * 10;
    const { opened } = await target.attackUntil(isEnough, attackMs, {
      connections: reconnecting,
      payload: postOf(body),
      returns: true,
    });
    expect(opened).toBeGreaterThan(reconnecting * 10);
  });
});

attackTest("white space where a token may stand costs no more than its length", async () => {
  await using target = await WatchedServer.start();
  const blanks = ["token", "father_token", "supertoken", "params"]
    .flatMap((name) => Array<string>(4).fill(`"${name}":${" ".repeat(4180)}0`))
    .join(",");
  const body = `{"a":[${Array(140_000).fill("0")}],${blanks}}`;
  await target.survives(`${blankRequests} clients with white space`, async () => {
    await target.attack(attackMs, { connections: blankRequests, payload: postOf(body), returns: true });
  });
});

attackTest("bodies in chunks of one byte do not keep the event loop", async () => {
  await using target = await WatchedServer.start();
  const head = postHead("Content-Type: application/json", "Transfer-Encoding: chunked");
  const payload = `${head}${"1\r\n \r\n".repeat(tinyChunks)}0\r\n\r\n`;
  await target.survives("16 bodies in chunks of one byte", async () => {
    const report = await target.attack(attackMs, { connections: 16, awaitsAnswers: true, payload });
    expect(turnedAway(report)).toBeGreaterThan(0);
  });
});

attackTest("pings whose answers nobody reads take little memory", async () => {
  await using target = await WatchedServer.start();
  const ping = frame("x".repeat(125), 0x89);
  await target.survives(`${pingSockets} sockets of unread pings`, async () => {
    await target.attack(attackMs, {
      websocket: true,
      connections: pingSockets,
      payload: Buffer.concat(Array.from({ length: pingsAtOnce }, () => ping)),
      times: "endless",
      reads: false,
    });
  });
});
