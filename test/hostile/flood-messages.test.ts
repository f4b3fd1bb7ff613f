import { expect } from "bun:test";
import { callText, framesOf } from "../support/attackers.ts";
import { frame } from "../support/hostile.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 3000;
const callsAtOnce = 500;
const [keySockets, largeSockets, numbers] = [20, 10, 5_000_000];
/** For a call with the right token while others try wrong ones, on a machine that may stand still for seconds. */
const maxWaitMs = 20_000;

attackTest(
  "WebSockets that try wrong keys without a pause do not starve those who have the right one",
  async () => {
    await using target = await WatchedServer.start();
    const { server } = target;
    await target.survives(`${keySockets} sockets of wrong keys`, async () => {
      await using attacker = await target.launch({
        websocket: true,
        connections: keySockets,
        payload: framesOf(callText("static-bucket_list", '["no:body"]'), callsAtOnce),
        times: "endless",
      });
      await attacker.finished(attackMs);
      const start = performance.now();
      await server.call("static-bucket_list", [server.superToken]);
      const waited = Math.round(performance.now() - start);
      await attacker.stop();
      console.log(`${keySockets} sockets of wrong keys: a call with the right token took ${waited} ms`);
      expect(waited).toBeLessThan(maxWaitMs);
    });
  },
);

attackTest("WebSockets that send the largest messages without a pause do not starve others", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`${largeSockets} sockets of messages of 10 MB`, async () => {
    const { statuses } = await target.attack(attackMs, {
      websocket: true,
      connections: largeSockets,
      payload: frame(callText("node-server_hello", `[${Array(numbers).fill("0")}]`)),
      times: "endless",
    });
    expect(statuses).toEqual({ 101: largeSockets });
  });
});
