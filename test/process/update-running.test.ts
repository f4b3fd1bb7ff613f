import { beforeAll, expect } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { Wire } from "../support/hostile.ts";
import {
  bothBinaries,
  expectInPlace,
  furnish,
  install,
  lateRestart,
  type Program,
  token,
  updateStory,
} from "../support/installed.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { hello, helloAt } from "../support/process.ts";
import type { Notification } from "../support/socket.ts";
import { until, within } from "../support/until.ts";
import {
  compileMs,
  compileVersions,
  digestOf,
  Releases,
  root,
  slowServer,
  type Versions,
} from "../support/update.ts";

let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, compileMs);

updateStory(
  "clients hear how far the download is and that the restart comes 3 seconds after the answer, and are told to come back",
  async () => {
    using releases = new Releases(versions);
    using slow = await slowServer(versions.two.path, 2500);
    releases.answer = () => Response.redirect(slow.url);
    await using home = await install(versions, { releases });
    const server = await home.serve();
    await using socket = await server.socket();
    await socket.call("node-server_stream_log", { token, log_filter: "server=info" });
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    expect(await within("the socket is closed", socket.closed)).toMatchObject({ code: 1012 });
    await server.runs(versions.two);

    const { size } = Bun.file(versions.two.path);
    const told: Array<{ bytes: number; percent: number }> = [];
    for (;;) {
      const { params } = (await socket.next()) as Notification;
      const { message, fields } = params.result as { message: string; fields: Record<string, number> };
      if (message === "update: installed") break;
      const { bytes, percent, total } = fields;
      if (message !== "update: downloading" || bytes === undefined || percent === undefined) continue;
      expect(total).toBe(size);
      expect(percent).toBe(Math.floor((bytes / size) * 100));
      told.push({ bytes, percent });
    }
    const { params } = (await socket.next()) as Notification;
    expect(params.result).toMatchObject({ fields: { event: "server.restart_scheduled", delay_ms: 3000 } });
    expect(told.length).toBeGreaterThan(2);
    expect(told.map(({ bytes }) => bytes)).toEqual(told.map(({ bytes }) => bytes).sort((a, b) => a - b));
    expect(told.at(-1)).toEqual({ bytes: size, percent: 100 });
  },
);

async function beginUpload(server: Program): Promise<Wire> {
  const wire = await Wire.open(server.url);
  const basic = Buffer.from(token).toString("base64");
  wire.write(
    `PUT /node/static-webdav/site/a.txt HTTP/1.1\r\nHost: here\r\nAuthorization: Basic ${basic}\r\nContent-Length: 6\r\n\r\nnew`,
  );
  return wire;
}

updateStory(
  "an upload that is under way when the restart comes is finished first, and new calls are answered meanwhile",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases, top: lateRestart });
    const server = await home.serve();
    await furnish(server);
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    using upload = await beginUpload(server);
    await server.says(/restarting into the new binary/);
    // Each on a connection of its own.
    for (let call = 0; call < 20; call++) expect(await helloAt(server.url)).toBe(hello);
    expect(upload.heard).toBe("");
    upload.write("est");
    await upload.hears(/^HTTP\/1\.1 20\d/);
    await server.runs(versions.two);
    expect(await readFile(join(home.path, "static/site/a.txt"), "utf8")).toBe("newest");
  },
);

updateStory(
  "an upload that never ends holds the restart up for seconds only, and leaves the old file",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases, top: lateRestart });
    const server = await home.serve();
    const expectFurnished = await furnish(server);
    expect(await server.update("v2.0.0")).toMatchObject({ result: null });
    using upload = await beginUpload(server);
    await server.runs(versions.two);
    expect(upload.closed).toBe(true);
    await expectFurnished();
    const { stdout } = Bun.spawnSync(["find", join(home.path, "static"), "-type", "f"]);
    expect(stdout.toString().trim().split("\n")).toEqual([join(home.path, "static/site/a.txt")]);
  },
);

updateStory("a server that runs from source says so and stays as it is", async () => {
  using releases = new Releases(versions);
  const command = [process.execPath, join(root, "src/main.ts")];
  await using home = await install(versions, { releases, command });
  const server = await home.serve();
  expect((await server.update("v2.0.0")).error?.message).toMatch(/from source/);
  expect(await server.call("node-server_hello")).toBe(hello);
  const { code, stderr } = await home.run(["update", "--tag", "v2.0.0"]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/from source/) });
});

updateStory("`update` takes a running server to a tag and to the newest release", async () => {
  using releases = new Releases(versions);
  const { one, two } = versions;
  await using home = await install(versions, { releases });
  const server = await home.serve();
  const newest = await home.run(["update"]);
  expect(newest).toMatchObject({ code: 0, stdout: "the server runs v2.0.0 now\n" });
  expect(newest.stderr).toMatch(/runs 1\.0\.0/);
  await server.runs(two);
  const again = await home.run(["update"]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/v2\.0\.0 .*already/) });
  const stranger = await home.run(["update", "--tag", one.tag], { NODE_SERVER_TOKEN: "no:body" });
  expect(stranger).toMatchObject({ code: 1, stderr: expect.stringMatching(/Permission Denied/) });
  const down = await home.run(["update", "--tag", one.tag]);
  expect(down).toMatchObject({ code: 0, stdout: "the server runs v1.0.0 now\n" });
  await server.runs(one);
});

updateStory(
  "`update` replaces the binary of a stopped server, which then starts as the new version",
  async () => {
    using releases = new Releases(versions);
    await using home = await install(versions, { releases });
    expect(await home.run(["update", "--tag", "2.0.0"])).toMatchObject({ code: 2 });
    const up = await home.run(["update"]);
    expect(up).toMatchObject({ code: 0, stdout: expect.stringMatching(/v2\.0\.0 is installed/) });
    expect(await digestOf(`${home.binary}.old`)).toBe(versions.one.digest);
    const server = await home.serve();
    await server.runs(versions.two);
    await until("the new version has confirmed itself", () => home.files().length === 2);
    expect(home.files()).toEqual(bothBinaries);
    await server.end("SIGTERM");
    expect(await home.run(["update"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
  },
);

updateStory("a server on PostgreSQL is updated from `node-server release-server`, compressed", async () => {
  const database = await newPostgresDatabase();
  const folder = join(versions.folder, "packed", "v2.0.0");
  await mkdir(folder, { recursive: true });
  const binary = await readFile(versions.two.path);
  await writeFile(join(folder, versions.name), binary);
  await writeFile(join(folder, `${versions.name}.zst`), zstdCompressSync(binary, { params: { 100: 1 } }));
  await using home = await install(versions, { databaseUrl: database.url });
  const host = home.launch(["release-server", join(versions.folder, "packed"), "--listen", "127.0.0.1:0"]);
  const url = await until("the release server is up", () => /http:\S+/.exec(host.stdout)?.[0]);
  const config = join(home.path, "config.toml");
  await writeFile(config, `release_url = "${url}"\n${await readFile(config, "utf8")}`);
  const server = await home.serve();
  const expectFurnished = await furnish(server);
  expect(await server.update("v2.0.0")).toMatchObject({ result: null });
  await server.runs(versions.two);
  await expectFurnished();
  await expectInPlace(home, versions.two, versions.one);
  await server.end("SIGTERM");
  await database.drop();
});
