import { expect } from "bun:test";
import { requestOf } from "../support/attackers.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 4000;
const clients = 500;
const fileBytes = 2_000_000;

function binaryFiles(names: readonly string[]): Record<string, Uint8Array> {
  return Object.fromEntries(names.map((name, at) => [name, new Uint8Array(fileBytes).fill(at + 1)]));
}

const names = Array.from({ length: clients }, (_, at) => `${at}.bin`);

const downloads = [
  { what: "of one file", files: ["0.bin"], paths: ["0.bin"] },
  { what: "of as many files", files: names, paths: names },
  { what: "of a bucket's own 404 page", files: ["404.html"], paths: ["no-such-file"] },
];

for (const { what, files, paths } of downloads) {
  attackTest(`downloads that nobody reads take little memory: ${what}`, async () => {
    await using target = await WatchedServer.withBucket(binaryFiles(files));
    await target.survives(`${clients} unread downloads ${what}`, async () => {
      const { opened } = await target.attack(attackMs, {
        connections: clients,
        payload: paths.map((path) => requestOf(`GET /node/static/b/${path}`)),
        reads: false,
      });
      expect(opened).toBe(clients);
    });
  });
}
