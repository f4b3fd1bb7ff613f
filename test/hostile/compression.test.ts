import { expect } from "bun:test";
import { requestOf } from "../support/attackers.ts";
import { cpuSeconds } from "../support/proc.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const attackMs = 6000;
const requests = 60;
const streams = 100;
const [textLines, longTextLines] = [100_000, 1_000_000];
/** To compress a text of 2 MB once or twice; once for every request takes 4 to 6 s. */
const maxCompressionSeconds = 2;

const textOf = (lines: number) =>
  Array.from({ length: lines }, (_, at) => `line ${at * 7919} of it\n`).join("");

/** `name` with every letter encoded whose bit in `number` is set. */
function spelling(name: string, number: number): string {
  const encode = (letter: string, at: number) =>
    number & (1 << at) ? `%${letter.charCodeAt(0).toString(16)}` : letter;
  return [...name].map(encode).join("");
}

const addresses = [
  { what: "one address", count: 1 },
  { what: "many spellings of its address", count: requests },
];

for (const { what, count } of addresses) {
  attackTest(`F23: a file that ${requests} clients request at once is compressed once: ${what}`, async () => {
    await using target = await WatchedServer.withBucket({ "abcdef.js": textOf(textLines) });
    const before = await cpuSeconds(target.server);
    await target.survives(`F23 ${requests} requests for ${what}`, async () => {
      const { statuses } = await target.attack(attackMs, {
        connections: requests,
        awaitsAnswers: true,
        payload: Array.from({ length: count }, (_, number) =>
          requestOf(`GET /node/static/b/${spelling("abcdef.js", number)}`, "Accept-Encoding: br, gzip"),
        ),
      });
      const used = (await cpuSeconds(target.server)) - before;
      console.log(`F23 ${what}: ${used.toFixed(1)} s of processor, statuses ${JSON.stringify(statuses)}`);
      expect([statuses, used < maxCompressionSeconds]).toEqual([{ 200: requests }, true]);
    });
  });
}

attackTest("compressed downloads that nobody reads take little memory", async () => {
  await using target = await WatchedServer.withBucket({ "words.txt": textOf(longTextLines) });
  await target.survives(`${streams} unread downloads with compression`, async () => {
    const { opened } = await target.attack(attackMs / 2, {
      connections: streams,
      payload: requestOf("GET /node/static/b/words.txt", "Accept-Encoding: br"),
      reads: false,
    });
    expect(opened).toBe(streams);
  });
});
