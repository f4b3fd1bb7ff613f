import { expect } from "bun:test";
import { callText, framesOf, postOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 3000;
const discover = callText("rpc.discover");
const [sockets, callsPerSocket] = [25, 2925];
const [posts, callsPerBatch] = [60, 1000];

attackTest("F4: answers that WebSockets do not read are bounded in all", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`F4 ${sockets} unread WebSockets`, async () => {
    const { opened } = await target.attack(attackMs, {
      websocket: true,
      connections: sockets,
      payload: framesOf(discover, callsPerSocket),
      reads: false,
    });
    expect(opened).toBe(sockets);
  });
});

attackTest("F4: answers to batches that nobody reads are bounded in all", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`F4 ${posts} unread POSTs`, async () => {
    const { opened } = await target.attack(attackMs, {
      connections: posts,
      payload: postOf(`[${Array(callsPerBatch).fill(discover)}]`),
      reads: false,
    });
    expect(opened).toBe(posts);
  });
});
