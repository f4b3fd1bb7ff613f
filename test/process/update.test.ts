import { beforeAll, expect } from "bun:test";
import { statSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { Wire } from "../support/hostile.ts";
import {
  bothBinaries,
  expectNoRestart,
  type Installation,
  install,
  justTheBinary,
  lateRestart,
  type Program,
  token,
} from "../support/installed.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { hello, helloAt, story, until, within } from "../support/process.ts";
import type { Notification } from "../support/socket.ts";
import {
  compileVersions,
  digestOf,
  Releases,
  root,
  slowServer,
  type Version,
  type Versions,
} from "../support/update.ts";

let versions: Versions;
beforeAll(async () => {
  versions = await compileVersions();
}, 180_000);

/** What a server holds that an update must not touch. */
async function furnish(server: Program) {
  const { key, secret } = (await server.call("token_create", [token, { token_limit: [] }])) as {
    key: string;
    secret: string;
  };
  await server.call("static-bucket_create", { token, name: "site" });
  await server.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "kept" });
  return async () => {
    expect(await server.send("token_get", [`${key}:${secret}`])).toHaveProperty("result.token_key", key);
    expect(await (await fetch(`${server.url}/node/static/site/a.txt`)).text()).toBe("kept");
  };
}

async function expectInPlace(home: Installation, now: Version, before: Version): Promise<void> {
  expect(await digestOf(home.binary)).toBe(now.digest);
  expect(await digestOf(`${home.binary}.old`)).toBe(before.digest);
}

story(
  "an update goes up and down again: same process, same tokens and files, the old binary beside the new one",
  async () => {
    using releases = new Releases(versions);
    const { one, two } = versions;
    await using home = await install(versions, { releases, top: lateRestart });
    await home.put(one, 0o775);
    const server = await home.serve();
    const expectFurnished = await furnish(server);
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      expect(await server.update(to.tag)).toMatchObject({ result: null });
      const audit = new RegExp(`INFO audit: .*update requested .*address=127\\.0\\.0\\.1 tag=${to.tag}\n`);
      await until("the update is in the audit", () => audit.test(server.stderr));
      // Asked first: reading two binaries may take longer than the time until the restart.
      expect(await server.version()).toBe(from.tag.slice(1));
      await expectInPlace(home, to, from);
      await server.runs(to);
      await until("the new version has confirmed itself", () => home.files().length === 2);
      expect(home.files()).toEqual(bothBinaries);
      await expectInPlace(home, to, from);
      expect(statSync(home.binary).mode & 0o777).toBe(0o775);
      await expectFurnished();
      const log = await server.log();
      expect(log.find(({ message }) => message === "update done")).toMatchObject({
        level: "INFO",
        fields: { from: from.tag.slice(1), to: to.tag.slice(1) },
      });
    }
    server.signal("SIGTERM");
    await server.says(/stopping on SIGTERM/);
    // The second one ends the draining.
    expect((await server.end("SIGTERM")).code).toBe(0);
    expect(server.stderr).not.toMatch(/Warning/);
  },
);

story("an update to the version that runs answers null and does nothing at all", async () => {
  using releases = new Releases(versions);
  let asked = 0;
  releases.answer = () => {
    asked += 1;
    return undefined;
  };
  await using home = await install(versions, { releases });
  const server = await home.serve();
  await using socket = await server.socket();
  expect(await server.update("v1.0.0")).toMatchObject({ result: null });
  const greeted = within("the socket is still served", socket.call("node-server_hello"));
  expect(await greeted).toMatchObject({ result: hello });
  expect(asked).toBe(0);
  expect(home.files()).toEqual(justTheBinary);
  await expectNoRestart(server);
});

story(
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

story(
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

story(
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

story("only the Super Token updates, only to a tag, and only where releases are known", async () => {
  await using home = await install(versions);
  const server = await home.serve();
  const { key, secret } = (await server.call("token_create", [
    token,
    { token_limit: [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }] },
  ])) as { key: string; secret: string };
  expect(await server.update("v2.0.0", `${key}:${secret}`)).toMatchObject({
    error: { code: 102, message: "Permission Denied: Super token required" },
  });
  for (const tag of [
    "1.2.3",
    "v1.2",
    "v1.2.3-rc1",
    "v1.2.3.4",
    " v1.2.3",
    "",
    "v1.2.3\n",
    "V1.2.3",
    "v1.-2.3",
  ])
    expect({ tag, ...(await server.update(tag)) }).toMatchObject({
      tag,
      error: { code: 108, message: expect.stringMatching(/^InvalidInput: /), data: { field: "tag" } },
    });
  expect((await server.update("v2.0.0")).error?.message).toMatch(/release_url/);
  expect(home.files()).toEqual(justTheBinary);
});

story("a server that runs from source says so and stays as it is", async () => {
  using releases = new Releases(versions);
  const command = [process.execPath, join(root, "src/main.ts")];
  await using home = await install(versions, { releases, command });
  const server = await home.serve();
  expect((await server.update("v2.0.0")).error?.message).toMatch(/from source/);
  expect(await server.call("node-server_hello")).toBe(hello);
  const { code, stderr } = await home.run(["update", "--tag", "v2.0.0"]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/from source/) });
});

story(
  "`update` takes a running server to a tag and to the newest release, and shows how far it is",
  async () => {
    using releases = new Releases(versions);
    const { one, two } = versions;
    await using home = await install(versions, { releases });
    const server = await home.serve();
    const newest = await home.run(["update"]);
    expect(newest).toMatchObject({ code: 0, stdout: "the server runs v2.0.0 now\n" });
    expect(newest.stderr).toMatch(/runs 1\.0\.0[\s\S]*downloading v2\.0\.0: 100 %/);
    await server.runs(two);
    const again = await home.run(["update"]);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/v2\.0\.0 .*already/) });
    const stranger = await home.run(["update", "--tag", one.tag], { NODE_SERVER_TOKEN: "no:body" });
    expect(stranger).toMatchObject({ code: 1, stderr: expect.stringMatching(/Permission Denied/) });
    const down = await home.run(["update", "--tag", one.tag]);
    expect(down).toMatchObject({ code: 0, stderr: expect.stringMatching(/downloading v1\.0\.0: 100 %/) });
    await server.runs(one);
  },
);

story("`update` replaces the binary of a stopped server, which then starts as the new version", async () => {
  using releases = new Releases(versions);
  await using home = await install(versions, { releases });
  expect(await home.run(["update", "--tag", "2.0.0"])).toMatchObject({ code: 2 });
  const up = await home.run(["update"]);
  expect(up).toMatchObject({ code: 0, stdout: expect.stringMatching(/v2\.0\.0 is in place/) });
  expect(up.stderr).toMatch(/downloading v2\.0\.0: 100 %/);
  expect(await digestOf(`${home.binary}.old`)).toBe(versions.one.digest);
  const server = await home.serve();
  await server.runs(versions.two);
  await until("the new version has confirmed itself", () => home.files().length === 2);
  expect(home.files()).toEqual(bothBinaries);
  await server.end("SIGTERM");
  expect(await home.run(["update"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
});

story("a server on PostgreSQL is updated from `node-server release-server`, compressed", async () => {
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
