import { expect } from "bun:test";
import { callText, postOf } from "../support/attackers.ts";
import { frame, postHead } from "../support/hostile.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 3000;
/** The default of `max_request_body_size`. */
const largest = 10 * 1024 * 1024;
const halfBytes = 9_900_000;
const [halfBodies, halfMessages, wholeBodies] = [100, 50, 20];

const filler = "x".repeat(halfBytes);
const padded = `${callText("node-server_hello").slice(0, -3)}["${"x".repeat(halfBytes)}"]}`;

attackTest("bodies of which 9.9 MB were sent and whose end never comes are bounded in all", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`${halfBodies} bodies that do not end`, async () => {
    const { opened } = await target.attack(attackMs, {
      connections: halfBodies,
      payload: `${postHead("Content-Type: application/json", `Content-Length: ${largest}`)}${filler}`,
    });
    expect(opened).toBe(halfBodies);
  });
});

attackTest(
  "chunked bodies of which 9.9 MB were sent and whose end never comes are bounded in all",
  async () => {
    await using target = await WatchedServer.start();
    const chunk = `${halfBytes.toString(16)}\r\n${filler}\r\n`;
    await target.survives(`${halfBodies} chunked bodies that do not end`, async () => {
      const { opened } = await target.attack(attackMs, {
        connections: halfBodies,
        payload: `${postHead("Content-Type: application/json", "Transfer-Encoding: chunked")}${chunk}`,
      });
      expect(opened).toBe(halfBodies);
    });
  },
);

attackTest(
  "WebSocket messages of which 9.9 MB were sent and whose end never comes are bounded in all",
  async () => {
    await using target = await WatchedServer.start();
    const whole = frame(Buffer.alloc(largest, "x"));
    await target.survives(`${halfMessages} WebSocket messages that do not end`, async () => {
      const { opened } = await target.attack(attackMs, {
        websocket: true,
        connections: halfMessages,
        payload: whole.subarray(0, halfBytes),
      });
      expect(opened).toBe(halfMessages);
    });
  },
);

attackTest("whole bodies of 10 MB without a token, many at once, are bounded in all", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`${wholeBodies} bodies of 10 MB without a token`, async () => {
    const { statuses } = await target.attack(attackMs, {
      connections: wholeBodies,
      payload: postOf(padded),
    });
    // Each is answered: with a result, or with the advice to come back. One that still sends when its connection is closed after the
    // answer may not get to hear it (0).
    expect(
      Object.keys(statuses).filter((status) => !["0", "200", "413", "429", "503"].includes(status)),
    ).toEqual([]);
  });
});
