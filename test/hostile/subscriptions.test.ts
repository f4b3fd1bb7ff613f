import { expect } from "bun:test";
import { callText, framesOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 2000;
const strangers = 1000;
const subscribers = 1000;

attackTest(
  "a thousand sockets of strangers that try to subscribe are refused or told to come back",
  async () => {
    await using target = await WatchedServer.start();
    await target.survives(`${strangers} sockets of strangers that subscribe`, async () => {
      const { statuses } = await target.attack(attackMs, {
        websocket: true,
        connections: strangers,
        payload: framesOf(callText("node-server_stream_log", '["no:body","trace"]'), 10),
      });
      expect((statuses[101] ?? 0) + (statuses[429] ?? 0)).toBe(strangers);
    });
  },
);

attackTest("a thousand sockets that follow the log and read nothing hold up nobody", async () => {
  await using target = await WatchedServer.start({
    top: `jsonrpc_max_connections = ${subscribers + 100}\n`,
  });
  const { superToken } = target.server;
  await target.survives(`${subscribers} unread subscriptions`, async () => {
    const { statuses } = await target.attack(attackMs, {
      websocket: true,
      connections: subscribers,
      payload: framesOf(callText("node-server_stream_log", JSON.stringify([superToken, "info"])), 1),
      reads: false,
    });
    expect(statuses).toEqual({ 101: subscribers });
  });
});
