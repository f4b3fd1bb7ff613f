import { expect } from "bun:test";
import { type AttackReport, callText, postOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 6000;
/** As base64 it is just below `max_response_body_size`. */
const fileBytes = 75_000_000;
const readers = 10;
/** Of all readers together, in the time of the attack. */
const minReadBytes = 10_000_000;

attackTest(`F22: ${readers} RPC reads of a file of 75 MB at once take little memory`, async () => {
  await using target = await WatchedServer.withBucket({ "large.bin": Buffer.alloc(fileBytes, 7) });
  const params = JSON.stringify([target.server.superToken, "b", "large.bin"]);
  await target.survives(`F22 ${readers} RPC reads of 75 MB`, async () => {
    const isEnough = ({ heardBytes }: AttackReport) => heardBytes > minReadBytes;
    const { heardBytes, statuses } = await target.attackUntil(isEnough, attackMs, {
      connections: readers,
      payload: postOf(callText("static-bucket-file_read", params)),
    });
    console.log(`F22: ${Math.round(heardBytes / 1e6)} MB were read, statuses ${JSON.stringify(statuses)}`);
    expect(heardBytes).toBeGreaterThan(minReadBytes);
  });
});
