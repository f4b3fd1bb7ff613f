import { expect } from "bun:test";
import { mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { descriptors } from "../support/proc.ts";
import { newHome, story } from "../support/process.ts";
import { until } from "../support/until.ts";

/** One that is copied from memory to the socket, and one that the kernel sends from the file. */
const sizes = { "small.bin": 1024, "large.bin": 1024 * 1024 };
const rounds = 20;
const clients = 6;

/** Content that is one byte all over, the version of the file. */
function versionOf(bytes: Uint8Array): number {
  const [version = -1] = bytes;
  return Buffer.alloc(bytes.length, version).equals(bytes) ? version : -1;
}

story(
  "a request that is sent after a change sees it, however many others are answered meanwhile",
  async () => {
    await using home = await newHome();
    const server = await home.serve();
    await server.call("static-bucket_create", { token: server.superToken, name: "site" });
    const folder = home.file("static/site");
    mkdirSync(folder, { recursive: true });
    const put = (name: keyof typeof sizes, version: number) => {
      writeFileSync(join(folder, `.${name}`), new Uint8Array(sizes[name]).fill(version));
      renameSync(join(folder, `.${name}`), join(folder, name));
    };
    const before = (await descriptors(server)).length;
    for (const name of Object.keys(sizes) as (keyof typeof sizes)[]) {
      const wrong: unknown[] = [];
      const tags = new Map<string, number>();
      let [current, answered, stopped] = [0, 0, false];
      put(name, current);
      /** One request; its answer must not be older than the file was when it was sent, nor have the tag of another content. */
      const get = async () => {
        const oldest = current;
        const response = await fetch(`${server.url}/node/static/site/${name}`);
        const version = versionOf(await response.bytes());
        const tag = response.headers.get("etag") ?? "";
        if (version < oldest || (tags.get(tag) ?? version) !== version) wrong.push({ oldest, version, tag });
        tags.set(tag, version);
        answered += 1;
      };
      const hammer = async () => {
        while (!stopped) await get();
      };
      const hammers = Array.from({ length: clients }, hammer);
      for (let round = 1; round <= rounds; round += 1) {
        await until("the file is old enough to be kept in memory", () => {
          return Date.now() > statSync(join(folder, name)).ctimeMs + 60;
        });
        const seen = answered;
        await until("it is answered from memory", () => answered > seen + 3 * clients);
        put(name, round);
        current = round;
        await get();
      }
      stopped = true;
      await Promise.all(hammers);
      expect({ name, wrong }).toEqual({ name, wrong: [] });
    }
    await until("every file is closed", async () => {
      const open = await descriptors(server);
      return !open.some((target) => target.includes("/static/site")) && open.length <= before + clients + 2;
    });
  },
);
