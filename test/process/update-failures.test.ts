import { beforeAll, expect } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, chownSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, expectRecovery } from "../support/failed-update.ts";
import { bothBinaries, install, lateRestart, updateStory } from "../support/installed.ts";
import { findProgram } from "../support/tools.ts";
import { until } from "../support/until.ts";
import {
  compileMs,
  compileVersions,
  digestOf,
  Releases,
  rawServer,
  script,
  slowServer,
  type Versions,
} from "../support/update.ts";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, compileMs);

type Failure = readonly [answer: Releases["answer"], why: RegExp];

const absent: readonly Failure[] = [
  [() => new Response("no", { status: 404 }), /404/],
  [() => new Response("oops", { status: 500 }), /500/],
  [() => new Response("x".repeat(1023)), /1023 bytes/],
  [() => new Response(""), /0 bytes/],
  [
    () =>
      new Response(`<!doctype html>${"<p>Sign in</p>".repeat(500)}`, {
        headers: { "content-type": "text/html" },
      }),
    /does not work here/,
  ],
];

const right = () => script({ ...versions.record, cargo_version: "2.0.0" });
const with200 = (headers: Record<string, string>) => () => new Response(right(), { headers });
const wrong = createHash("sha256").update("another file").digest();
const ofAnotherDigest: readonly Failure[] = [
  [with200({ "repr-digest": `sha-256=:${wrong.toString("base64")}:` }), /digest/],
  [with200({ digest: `SHA-256=${wrong.toString("base64")}` }), /digest/],
  [with200({ "x-checksum-sha256": wrong.toString("hex") }), /digest/],
  [with200({ "x-checksum-sha256": "" }), /digest/],
];

function foreign(): Failure[] {
  const elf = Buffer.alloc(4096);
  // 64 bits, little-endian, an executable, for a processor that nobody has (e_machine 0x1234).
  elf.write("7f454c460201010000000000000000000200341201000000", "hex");
  const says = (record: object) => () => new Response(script({ ...versions.record, ...record }));
  return [
    [() => new Response(crypto.getRandomValues(new Uint8Array(5000))), /does not work here/],
    [() => new Response(elf), /does not work here/],
    [says({ cargo_version: "2.0.1" }), /version 2\.0\.1/],
    [says({ cargo_version: "2.0.0", cargo_target_triple: "m68k-unknown-linux-gnu" }), /built for m68k/],
    [() => new Response(script({})), /version unknown/],
    [() => new Response(`#!/bin/sh\nexit 3\n#${"x".repeat(2000)}`), /code 3/],
    [() => new Response(`#!/bin/sh\necho '[1'\n#${"x".repeat(2000)}`), /version unknown/],
  ];
}

// One server for all of them: an update that succeeds, at the end, takes longer than all that fail.
updateStory(
  "a release that is not there, has another digest or is no program of this system and version changes nothing",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases });
    const server = await home.serve();
    const failures = [...absent, ...ofAnotherDigest, ...foreign()];
    for (const [answer, why] of failures) {
      releases.answer = answer;
      await expectFailure(home, server, why);
    }
    releases.answer = () => undefined;
    await expectRecovery({ home, server, versions }, failures.length);
  },
);

updateStory("a download that is cut, or is not as long as announced, changes nothing", async () => {
  const bytes = await Bun.file(versions.two.path).bytes();
  const part = bytes.subarray(0, 5_000_000);
  const more = bytes.subarray(0, 6_000_000);
  const head = (length: string) => `HTTP/1.1 200 OK\r\n${length}\r\n\r\n`;
  const chunk = Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]);
  const kinds: Array<readonly [length: string, body: Uint8Array, leave: "end" | "resetAndDestroy"]> = [
    [`Content-Length: ${bytes.length}`, part, "end"],
    [`Content-Length: ${bytes.length}`, part, "resetAndDestroy"],
    [`Content-Length: ${part.length}`, more, "end"],
    ["Transfer-Encoding: chunked", chunk, "end"],
    ["Connection: close", part, "end"],
    ["Content-Length: 9999999999", part, "end"],
  ];
  using releases = new Releases(versions);
  await using home = await install(versions, { releases });
  const server = await home.serve();
  for (const [length, body, leave] of kinds) {
    using raw = await rawServer((socket) => {
      socket.write(head(length));
      socket.write(body, () => socket[leave]());
    });
    releases.answer = () => Response.redirect(raw.url);
    // What is shorter or longer than its own server knows can only show when it is run.
    const isToldLonger = length.includes("Length") && body === part;
    await expectFailure(home, server, isToldLonger ? /not downloaded/ : /not downloaded|does not work here/);
  }
  releases.answer = () => undefined;
  await expectRecovery({ home, server, versions }, kinds.length);
});

updateStory("a folder that the server may not write to is a reason to refuse, politely", async () => {
  if (isRoot && findProgram("a folder that is not writable", "setpriv", "util-linux") === undefined) return;
  const as = isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : [];
  using releases = new Releases(versions);
  await using home = await install(versions, { releases, as });
  if (isRoot) for (const path of ["", "config.toml"]) chownSync(join(home.path, path), nobody, nobody);
  chmodSync(home.bin, 0o555);
  const server = await home.serve();
  await expectFailure(home, server, /cannot write to the folder/);
  if (isRoot) chownSync(home.bin, nobody, nobody);
  chmodSync(home.bin, 0o755);
  await expectRecovery({ home, server, versions }, 1);
});

updateStory("a disk without room is seen before the download, or at the latest when it is full", async () => {
  const asRoot = isRoot ? [] : ["sudo", "-n"];
  const run = (...words: string[]) =>
    Bun.which(asRoot[0] ?? "mount") !== null && Bun.spawnSync([...asRoot, ...words]).exitCode === 0;
  using releases = new Releases(versions);
  await using home = await install(versions, { releases });
  rmSync(home.binary);
  const { size } = Bun.file(versions.one.path);
  if (!run("mount", "-t", "tmpfs", "-o", `mode=1777,size=${size + 40_000_000}`, "tmpfs", home.bin)) {
    console.log("SKIPPED: a full disk needs mount as root (apt install mount)");
    return;
  }
  try {
    await home.put(versions.one);
    const server = await home.serve();
    await expectFailure(home, server, /the disk has \d+ MB left/);
    // Nobody can know how long this one is.
    releases.answer = () =>
      new Response(Bun.file(versions.two.path).stream().pipeThrough(new TransformStream()));
    await expectFailure(home, server, /the disk is full/);
    releases.answer = () => undefined;
    run("mount", "-o", `remount,size=${4 * size}`, home.bin);
    await expectRecovery({ home, server, versions }, 2);
    await server.end("SIGKILL");
  } finally {
    run("umount", "-l", home.bin);
  }
});

updateStory(
  "a second update is refused while one is under way, until the restart; the first is not disturbed",
  async () => {
    using releases = new Releases(versions);
    const mayEnd = Promise.withResolvers<void>();
    using slow = await slowServer(versions.two.path, 1500, mayEnd.promise);
    let asked = 0;
    releases.answer = () => {
      asked += 1;
      return Response.redirect(slow.url);
    };
    await using home = await install(versions, { releases, top: lateRestart });
    const server = await home.serve();
    const first = server.update("v2.0.0");
    await until("the first has begun", () => asked === 1);
    const busy = { error: { code: 999, data: { reason: "update_running" } } };
    expect(await server.update("v2.0.0")).toMatchObject(busy);
    expect(await server.update("v3.0.0")).toMatchObject(busy);
    expect(await server.update("v1.0.0")).toMatchObject({ result: null });
    mayEnd.resolve();
    expect(await first).toMatchObject({ result: null });
    expect(await server.update("v3.0.0")).toMatchObject(busy);
    await server.runs(versions.two);
    expect(asked).toBe(1);
  },
);

const spoilers: Record<string, (binary: string) => void> = {
  "loses its right to be executed": (binary) => chmodSync(binary, 0o644),
  "is damaged": (binary) => {
    writeFileSync(`${binary}.damaged`, Buffer.alloc(5000, 7), { mode: 0o755 });
    renameSync(`${binary}.damaged`, binary);
  },
  "is gone": (binary) => rmSync(binary),
};
for (const [what, spoil] of Object.entries(spoilers))
  updateStory(`when the new binary ${what} before the restart, the old one is back and goes on`, async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases, top: lateRestart });
    const server = await home.serve();
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    spoil(home.binary);
    await server.says(/could not be run .*the old one is back in place and continues to run/);
    await server.runs(versions.one);
    expect(await digestOf(home.binary)).toBe(versions.one.digest);
    expect(home.files()).toEqual(bothBinaries);
    if (what !== "is gone") return;
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    await server.runs(versions.two);
  });

updateStory(
  "when neither the new binary nor the old one is there at the restart, the process goes on",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases, top: lateRestart });
    const server = await home.serve();
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    rmSync(home.binary);
    rmSync(`${home.binary}.old`);
    await server.says(/restarting into the new binary[\s\S]*listening on/);
    await server.runs(versions.one);
  },
);
