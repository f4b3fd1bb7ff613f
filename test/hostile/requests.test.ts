import { expect } from "bun:test";
import { callText, postOf, requestOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 8000;
/** One request without a token takes at most 50 ms of the event loop on an idle machine; a busy one is given three times that. */
const maxLoopMs = 150;
/** The default of `max_request_body_size`, less what stands around a payload. */
const largest = 10 * 1024 * 1024 - 1000;
const fractionalIds = 999;
const longParams = 1_050_000;
const nested = 5_000_000;
const [segments, atOnce] = [2000, 30];

const fill = (item: string) =>
  Array(Math.floor(largest / (item.length + 1)))
    .fill(item)
    .join(",");

/** Single requests without a token, each as large as one may be, and each more work than it looks. */
const requests = {
  "F1 a batch of fractional ids that are not in the text": `[${callText(
    "node-server_hello",
    `[${Array(longParams).fill('{"id":1}')}]`,
  )},${Array(fractionalIds).fill('{"jsonrpc":"2.0","\\u0069d":1.5,"method":"x"}')}]`,
  "arrays in arrays, 5 million deep": "[".repeat(nested) + "]".repeat(nested),
  "arrays in arrays as params": callText("node-server_hello", "[".repeat(nested) + "]".repeat(nested)),
  "one call of 10 MB of text": callText("node-server_hello", `["${"x".repeat(largest - 200)}"]`),
  "one call of 10 MB of numbers": callText("node-server_hello", `[${fill("0")}]`),
  "one call of 10 MB of objects": callText("node-server_hello", `[${fill('{"a":1}')}]`),
  "a password of 10 MB": callText("static-bucket_list", `["nobody|${"x".repeat(largest - 200)}"]`),
  "a batch of a thousand rpc.discover": `[${Array(1000).fill(callText("rpc.discover"))}]`,
  "one call with a name of 10 MB": callText("x".repeat(largest - 200)),
  "text that is no JSON": "x".repeat(largest),
};

for (const [what, body] of Object.entries(requests)) {
  attackTest(`one request without a token does not hold up others: ${what}`, async () => {
    await using target = await WatchedServer.start();
    const attack = async () => {
      const { statuses } = await target.attack(attackMs, { payload: postOf(body), awaitsAnswers: true });
      // Refused or not: it was answered.
      expect([Object.keys(statuses).length, statuses["0"]]).toEqual([1, undefined]);
    };
    await target.survives(what, attack, maxLoopMs);
  });
}

attackTest("F10: paths of many segments in letters of other languages do not hold up others", async () => {
  await using target = await WatchedServer.withBucket();
  await target.survives(`F10 ${atOnce} paths of ${segments} segments`, async () => {
    const { statuses } = await target.attack(attackMs, {
      connections: atOnce,
      awaitsAnswers: true,
      payload: requestOf(`GET /node/static/b/${"%C3%A9/".repeat(segments)}`),
    });
    expect(statuses).toEqual({ 404: atOnce });
  });
});
