import { beforeAll, expect } from "bun:test";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { link } from "node:fs/promises";
import { join } from "node:path";
import { Gate, gatedProgram } from "../support/gate.ts";
import { bothBinaries, Installation, install, justTheBinary, updateStory } from "../support/installed.ts";
import { until, within } from "../support/until.ts";
import {
  compileMs,
  compileVersions,
  digestOf,
  Releases,
  rawServer,
  slowServer,
  type Versions,
} from "../support/update.ts";

/** A story of kills has as many updates or starts as there are calls. */
const manyUpdatesMs = 180_000;

let versions: Versions;
/** Version 2.0.0 with gates. */
let gated = "";
/** What the binary of each version may be. */
let digests: Readonly<Record<string, readonly string[]>> = {};
beforeAll(async () => {
  versions = await compileVersions();
  gated = await gatedProgram();
  digests = { "1.0.0": [versions.one.digest], "2.0.0": [versions.two.digest, await digestOf(gated)] };
}, compileMs);

/** After a kill, the binary on the disk is whole and starts as what it says it is; nothing else is left of the update. */
async function startsAs(home: Installation): Promise<string> {
  const { code, stdout } = await home.run(["version", "--json"]);
  expect(code).toBe(0);
  const { cargo_version } = JSON.parse(stdout) as { cargo_version: string };
  expect(digests[cargo_version]).toContain(await digestOf(home.binary));
  const server = await home.serve();
  expect(await server.version()).toBe(cargo_version);
  const strays = () => home.files().filter((name) => !bothBinaries.includes(name));
  // It says that it listens a little before it confirms itself.
  await until("nothing else is left of the update", () => strays().length === 0);
  await server.end("SIGKILL");
  return cargo_version;
}

updateStory(
  "kill -9 during the download: the old version starts, and nothing is left of the new one",
  async () => {
    using releases = new Releases(versions);
    using slow = await slowServer(versions.two.path, 4000);
    releases.answer = () => Response.redirect(slow.url);
    await using home = await install(versions, { releases });
    const server = await home.serve();
    const answer = server.update("v2.0.0").catch(() => undefined);
    await until("the download has begun", () => home.files().length > 1);
    await server.end("SIGKILL");
    await answer;
    expect(home.files().length).toBeGreaterThan(1);
    releases.answer = () => undefined;
    expect(await startsAs(home)).toBe("1.0.0");
  },
);

updateStory(
  "a stop during a download that drips ends at once, and leaves nothing of the new version",
  async () => {
    using releases = new Releases(versions);
    using drip = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n");
      const timer = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    releases.answer = () => Response.redirect(drip.url);
    await using home = await install(versions, { releases });
    const server = await home.serve();
    const answer = server.update("v2.0.0").catch(() => undefined);
    await until("the download has begun", () => home.files().length > 1);
    await server.end("SIGTERM");
    await answer;
    expect(server.stderr).toContain("update failed");
    expect(home.files()).toEqual(justTheBinary);
    expect(await startsAs(home)).toBe("1.0.0");
  },
);

updateStory(
  "kill -9 before any call of an update leaves the old binary or the new one, whole",
  async () => {
    // The release runs version 1.0.0 from elsewhere: so it is small, and many updates take seconds.
    const release = `#!/bin/sh\nexec ${versions.one.path} "$@"\n# ${"x".repeat(2000)}\n`;
    const struck: string[] = [];
    const found = new Set<string>();
    for (;;) {
      using releases = new Releases(versions);
      releases.answer = () => new Response(release);
      await using home = await Installation.open({ releases, top: "drain_seconds = 3600\n" });
      await link(gated, home.binary);
      const gate = await Gate.open(home.path);
      const server = await home.serve(gate.env);
      gate.close(struck.length + 1);
      const answer = await server.update("v1.0.0").catch(() => undefined);
      if (answer === undefined) await within("the server is killed", server.exited);
      const call = gate.open().at(-1) ?? "";
      if (answer !== undefined) {
        expect(answer).toMatchObject({ result: null });
        break;
      }
      struck.push(call);
      const isNew = readFileSync(home.binary).equals(Buffer.from(release));
      found.add(isNew ? "new" : "old");
      if (!isNew) expect([struck, await startsAs(home)]).toEqual([struck, "2.0.0"]);
    }
    console.log(`an update: killed before ${struck.join(", ")}`);
    expect([...found]).toEqual(["old", "new"]);
    expect(struck).toEqual(expect.arrayContaining(["link", "rename"]));
  },
  manyUpdatesMs,
);

updateStory("kill -9 between the installation and the restart: the new version starts", async () => {
  using releases = new Releases(versions);
  await using home = await install(versions, { releases, top: "drain_seconds = 3600\n" });
  const server = await home.serve();
  expect(await server.update("v2.0.0")).toMatchObject({ result: null });
  await server.end("SIGKILL");
  expect(await startsAs(home)).toBe("2.0.0");
});

updateStory(
  "kill -9 before any call of the new version's first start: it starts again",
  async () => {
    using releases = new Releases(versions);
    releases.answer = ({ url }) => (url.includes("v2.0.0") ? new Response(Bun.file(gated)) : undefined);
    await using home = await install(versions, { releases });
    // The old version makes the database.
    await (await home.serve()).end("SIGTERM");
    expect(await home.run(["update", "--tag", "v2.0.0"])).toMatchObject({ code: 0 });
    const installed = join(home.path, "installed");
    cpSync(home.bin, installed, { recursive: true });
    const gate = await Gate.open(home.path);
    const struck: string[] = [];
    for (;;) {
      rmSync(home.bin, { recursive: true });
      cpSync(installed, home.bin, { recursive: true });
      // Its transactions are those of every start, which `kill-points.test.ts` kills.
      gate.close(struck.length + 1, ["COMMIT", "committed"]);
      const server = home.launch(["serve"], gate.env);
      const isUp = await server.says(/INFO server: listening on \S+\n/).then(
        () => true,
        () => false,
      );
      if (isUp)
        await until(
          "it has confirmed itself or is killed",
          () => !server.alive || !existsSync(statePath(home)),
        );
      const call = gate.open().at(-1) ?? "";
      if (server.alive) break;
      struck.push(call);
      expect([struck, await startsAs(home)]).toEqual([struck, "2.0.0"]);
    }
    console.log(`the first start of a new version: killed before ${struck.join(", ")}`);
    expect(struck.length).toBeGreaterThan(2);
  },
  manyUpdatesMs,
);

function statePath(home: Installation): string {
  return join(home.bin, ".node-server.update.json");
}
