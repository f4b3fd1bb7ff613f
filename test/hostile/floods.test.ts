import { expect } from "bun:test";
import { type AttackReport, callText, framesOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 3000;
/** A part of the flood that is sent again and again. */
const callsAtOnce = 500;
const [discover, hello] = [callText("rpc.discover"), callText("node-server_hello")];

const floods = [
  { what: "1 socket of hello", sockets: 1, call: hello },
  { what: "20 sockets of hello", sockets: 20, call: hello },
  { what: "1 socket of rpc.discover", sockets: 1, call: discover },
  { what: "5 sockets of rpc.discover", sockets: 5, call: discover },
];

for (const { what, sockets, call } of floods) {
  attackTest(`F3: WebSockets that call without a pause do not starve others: ${what}`, async () => {
    await using target = await WatchedServer.start();
    await target.survives(`F3 ${what}`, async () => {
      // The flood is served as well, in its turn.
      const isServed = ({ heardBytes }: AttackReport) => heardBytes > 100_000;
      const report = await target.attackUntil(isServed, attackMs, {
        websocket: true,
        connections: sockets,
        payload: framesOf(call, callsAtOnce),
        times: "endless",
      });
      expect([report.statuses, isServed(report)]).toEqual([{ 101: sockets }, true]);
    });
  });
}
