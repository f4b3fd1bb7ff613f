import { expect } from "bun:test";
import { type AttackReport, callText, framesOf, requestOf, turnedAway } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 2000;
const [sockets, callsPerSocket, returningClients] = [25, 1000, 50];
const [uploads, uploadBytes] = [1000, 1_000_000];

const guess = callText("static-bucket_list", '["nobody|wrong"]');

attackTest("F2: wrong passwords over WebSockets leave no work behind", async () => {
  await using target = await WatchedServer.start();
  await target.survives(`F2 ${sockets} sockets of ${callsPerSocket} passwords`, async () => {
    const { statuses } = await target.attack(attackMs, {
      websocket: true,
      connections: sockets,
      payload: framesOf(guess, callsPerSocket),
    });
    expect(statuses).toEqual({ 101: sockets });
  });
});

const authorization = `Authorization: Basic ${btoa("nobody:wrong")}`;

attackTest(
  "F2: wrong passwords over WebDAV, whose clients hang up at once, leave no work behind",
  async () => {
    await using target = await WatchedServer.withBucket();
    await target.survives(`F2 ${returningClients} WebDAV clients that hang up and return`, async () => {
      const isEnough = ({ opened }: AttackReport) => opened > returningClients;
      const { opened } = await target.attackUntil(isEnough, attackMs, {
        connections: returningClients,
        payload: requestOf("GET /node/static-webdav/b/x", authorization),
        hangsUp: "reset",
        returns: true,
      });
      expect(opened).toBeGreaterThan(returningClients);
    });
  },
);

attackTest("F2: uploads that wait for the check of a password take little memory", async () => {
  await using target = await WatchedServer.withBucket();
  const head = requestOf("PUT /node/static-webdav/b/x", authorization, `Content-Length: ${uploadBytes}`);
  await target.survives(`F2 ${uploads} WebDAV uploads of 1 MB with a wrong password`, async () => {
    const report = await target.attackUntil((report) => turnedAway(report) > 0, attackMs, {
      connections: uploads,
      payload: head + "x".repeat(uploadBytes),
    });
    expect(report.opened).toBe(uploads);
    expect(turnedAway(report)).toBeGreaterThan(0);
  });
});
