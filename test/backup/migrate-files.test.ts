import { expect } from "bun:test";
import { mkdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DatabaseKind, databaseKinds, newDatabase } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";
import { type Home, newHome, type Server, story } from "../support/process.ts";
import { treeOf } from "./support.ts";

const content: Record<string, string> = {
  "index.html": "<h1>Hello</h1>",
  "empty.txt": "",
  "deep/er/é ü.bin": "x".repeat(300_000),
  "copy.html": "<h1>Hello</h1>",
};

interface Site {
  readonly home: Home;
  readonly token: string;
  configure(files?: string): Promise<void>;
  drop(): Promise<void>;
}

/** A stopped server with two buckets of plain files. */
async function newSite(kind: DatabaseKind): Promise<Site> {
  const home = await newHome();
  const place = await newDatabase(kind, home.path);
  const configure = (files = "") =>
    home.configure({ databaseKeys: files && `\n[files]\n${files}\n` }, place.url);
  await configure();
  const server = await home.serve();
  const token = server.superToken;
  for (const name of ["site", "other"]) await server.call("static-bucket_create", [token, name, `b/${name}`]);
  for (const [path, body] of Object.entries(content)) await upload(server, token, path, body);
  await dav(server, token, "MKCOL", "nothing in it");
  await dav(
    server,
    token,
    "PROPPATCH",
    "index.html",
    '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><N:note xmlns:N="urn:n">kept</N:note></D:prop></D:set></D:propertyupdate>',
  );
  await server.stop();
  const then = new Date("2020-02-03T04:05:06Z");
  await utimes(home.file("static/b/site/index.html"), then, then);
  await utimes(home.file("static/b/site/deep"), then, then);
  return { home, token, configure, drop: () => place.drop() };
}

const upload = (server: Server, token: string, path: string, body: string) =>
  server.call("static-bucket-file_upload", { token, name: "site", path, body });

const dav = (server: Server, token: string, method: string, path: string, body?: string) =>
  fetch(`${server.url}/node/static-webdav/site/${encodeURI(path)}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(token).toString("base64")}`, depth: "0" },
    keepalive: false,
    ...(body === undefined ? {} : { body }),
  });

/** The files of the site by HTTP, a folder, the time of another, and a property. */
async function look(server: Server, token: string) {
  const files: Record<string, string> = {};
  const listed = (await server.call("static-bucket-file_list", { token, name: "site" })) as {
    path: string;
  }[];
  for (const { path } of listed)
    files[path] = await (await fetch(`${server.url}/node/static/site/${encodeURI(path)}`)).text();
  const [note, folder, empty] = await Promise.all([
    dav(server, token, "PROPFIND", "index.html").then((answer) => answer.text()),
    dav(server, token, "PROPFIND", "deep").then((answer) => answer.text()),
    dav(server, token, "PROPFIND", "nothing in it"),
  ]);
  const modified = (text: string) => /getlastmodified[^>]*>([^<]+)/.exec(text)?.[1];
  return {
    files,
    note: /note[^>]*>([^<]+)/.exec(note)?.[1],
    times: [modified(note), modified(folder)],
    empty: empty.status,
  };
}

const expected = {
  files: content,
  note: "kept",
  times: ["Mon, 03 Feb 2020 04:05:06 GMT", "Mon, 03 Feb 2020 04:05:06 GMT"],
  empty: 207,
};

for (const kind of databaseKinds)
  story(`files go from the disk to a blob store, to another one, and back, over ${kind}`, async () => {
    const { home, token, configure, drop } = await newSite(kind);
    await using _ = home;
    const before = await treeOf(home.file("static"));
    const [first, second] = [home.file("first"), home.file("second")];
    const running = await home.serve();
    const refused = await home.run(["migrate", "--files", `file://${first}`]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in use by another|uses this database|runs at http/),
    });
    await running.stop();
    const missing = await home.run(["migrate", "--files", `file://${first}`]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining(first) });

    const wrong = await home.run(["migrate", "--files", "/srv/blobs"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("--files names no store. It takes disk"),
    ]);

    await mkdir(first);
    const moved = await home.run(["migrate", "--files", `file://${first}`]);
    expect({ code: moved.code, stderr: moved.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /copying: 100 %, .*4 files copied to file:.*first, 0 files there already \(2 buckets\); the SHA-256 of every file is the same\.\nNow write url = "file:.*first" below \[files\] into .*config\.toml, and start the server\. The plain files below static_path stay as they are\.\n/s,
      ),
    });
    expect(await treeOf(home.file("static"))).toEqual(before);
    await configure(`url = "file://${first}"`);
    let server = await home.serve();
    expect(await look(server, token)).toEqual(expected);
    // Versions go along to the next blob store.
    await upload(server, token, "index.html", "new");
    await server.stop();

    await mkdir(second);
    const again = await home.run(["migrate", "--files", `file://${second}`]);
    expect({ code: again.code, stderr: again.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /4 blobs copied to .*second, 0 blobs there already; the SHA-256 of every blob/,
      ),
    });
    expect(await storedKeys(second)).toEqual(await storedKeys(first));
    await rm(first, { recursive: true });
    await configure(`url = "file://${second}"`);
    server = await home.serve();
    const history = { token, name: "site", path: "index.html" };
    const [version] = (await server.call("static-bucket-file_history", history)) as { version: number }[];
    await server.call("static-bucket-file_restore", { ...history, version: version?.version });
    expect(await look(server, token)).toMatchObject({ files: content, note: "kept" });
    await server.stop();

    // The old plain files are still there: only what is different is copied, and what nobody has is reported.
    await writeFile(home.file("static/b/site/copy.html"), "<h1>Hallo</h1>");
    await mkdir(home.file("static/b/site/mine"));
    await writeFile(home.file("static/b/site/mine/own.txt"), "mine");
    const back = await home.run(["migrate", "--files", "disk"]);
    expect({ code: back.code, stderr: back.stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /only in plain files below static_path: site\/mine\n1 file copied to .*, 3 files there already .*; 1 file or folder only there: move them away, or delete them with --delete/,
      ),
    });
    const deleting = await home.run(["migrate", "--files", "disk", "--delete"]);
    expect({ code: deleting.code, stderr: deleting.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /0 files copied to .*, 4 files there already.*\nNow remove url below \[files\] from/s,
      ),
    });
    expect(await treeOf(home.file("static/b"))).toEqual(
      Object.fromEntries(
        Object.entries(before).flatMap(([path, hash]) =>
          path.startsWith("b/") ? [[path.slice(2), hash]] : [],
        ),
      ),
    );
    await configure();
    server = await home.serve();
    expect(await look(server, token)).toMatchObject({ files: content, note: "kept", empty: 207 });
    await server.call("static-bucket_delete", { token, name: "other" });
    await server.stop();

    // The rows of versions and of the deleted bucket name blobs that only the earlier stores had.
    const [third, fourth] = [home.file("third"), home.file("fourth")];
    await mkdir(third);
    const anew = await home.run(["migrate", "--files", `file://${third}`]);
    expect({ code: anew.code, stderr: anew.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/\d+ versions of an earlier object store, .* forgotten/),
    });
    await configure(`url = "file://${third}"`);
    expect(await home.run(["check", "--files"])).toMatchObject({ code: 0 });
    await mkdir(fourth);
    expect(await home.run(["migrate", "--files", `file://${fourth}`])).toMatchObject({ code: 0 });
    await drop();
  });

story("a file that cannot be copied does not keep the others from it, and the command says so", async () => {
  const { home, configure } = await newSite("sqlite");
  await using _ = home;
  const blobs = home.file("blobs");
  await mkdir(blobs);
  await home.run(["migrate", "--files", `file://${blobs}`]);
  await configure(`url = "file://${blobs}"`);
  const [first = ""] = await storedKeys(blobs);
  await writeFile(join(blobs, "blobs", first.slice(-2), first), "damaged");
  await rm(home.file("static"), { recursive: true });
  const back = await home.run(["migrate", "--files", "disk"]);
  expect({ code: back.code, stderr: back.stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /not copied: site\/.*: .*\n3 files copied to .*; 1 file not copied\. Nothing is lost/,
    ),
  });
  expect(
    Object.keys(await treeOf(home.file("static/b/site"))).filter((path) => path in content),
  ).toHaveLength(3);
  for (const args of [
    ["--files", "ftp://x"],
    ["--files", "s3://bucket/prefix"],
    ["--files", `file://${blobs}`],
    ["--files", "disk", "--to", "x.db"],
    ["--delete"],
  ]) {
    const wrong = await home.run(["migrate", ...args]);
    expect([args, wrong.code === 1 || wrong.code === 2, wrong.stderr.length > 20]).toEqual([
      args,
      true,
      true,
    ]);
  }
  const keys = await home.run(["migrate", "--files", "s3://bucket/prefix"]);
  expect(keys.stderr).toContain("AWS_ACCESS_KEY_ID");
  expect(await readFile(home.configPath, "utf8")).toContain(blobs);
});

story("a server goes to PostgreSQL and a blob store in one step, and back", async () => {
  const { home, token } = await newSite("sqlite");
  await using _ = home;
  const blobs = home.file("blobs");
  await mkdir(blobs);
  const postgres = await newDatabase("postgres", home.path);
  const moved = await home.run([
    ...["migrate", "--to", postgres.url],
    ...["--files", `file://${blobs}`, "--write-config"],
  ]);
  expect(moved).toMatchObject({ code: 0, stderr: expect.stringContaining("names the new store") });
  expect(moved.stderr + moved.stdout).not.toContain(new URL(postgres.url).password || "no password");
  const config = await readFile(home.configPath, "utf8");
  expect(config).toContain(`[files]\nurl = "file://${blobs}"\n`);
  // The old server is as it was: its database names no blob.
  expect(await storedKeys(blobs)).toHaveLength(3);
  let server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();

  await writeFile(home.file("static/b/site/mine"), "written by hand");
  const back = ["migrate", "--to", `sqlite://${home.file("back.db")}`, "--files", "disk", "--write-config"];
  expect(await home.run(back)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /only in plain files .*: site\/mine\n.*\nthe database was copied, but not all files. To go on, run `node-server migrate --files disk` with the same -c\n/s,
    ),
  });
  // The new database with the old store is a server that works, and the command that was named goes on.
  server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();
  expect(await home.run(["migrate", "--files", "disk", "--delete", "--write-config"])).toMatchObject({
    code: 0,
  });
  const last = await readFile(home.configPath, "utf8");
  expect([last.includes("back.db"), last.includes(blobs)]).toEqual([true, false]);
  server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();
  await postgres.drop();
});

story("content that the source has lost is named, and does not keep a migration from its end", async () => {
  const { home, token, configure, drop } = await newSite("sqlite");
  await using _ = home;
  const [first, second] = [home.file("first"), home.file("second")];
  await mkdir(first);
  await mkdir(second);
  expect(await home.run(["migrate", "--files", `file://${first}`])).toMatchObject({ code: 0 });
  await configure(`url = "file://${first}"`);
  const before = new Set(await storedKeys(first));
  const server = await home.serve();
  await upload(server, token, "gone.txt", "deleted and lost");
  await server.call("static-bucket-file_delete", { token, name: "site", path: "gone.txt" });
  await server.stop();
  const [lost] = (await storedKeys(first)).filter((key) => !before.has(key));
  await rm(join(first, "blobs", lost?.slice(-2) ?? "", lost ?? ""));
  const moved = await home.run(["migrate", "--files", `file://${second}`]);
  expect({ code: moved.code, stderr: moved.stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /note: not copied: b\/site\/gone\.txt \(deleted file\): .*first does not have its content either\n.*3 blobs copied.*\nNow write url/s,
    ),
  });
  await rm(join(first, "blobs"), { recursive: true });
  await mkdir(join(first, "blobs"));
  const third = home.file("third");
  await mkdir(third);
  const { code, stderr } = await home.run(["migrate", "--files", `file://${third}`]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("check that its file system is mounted")]);
  expect(stderr).not.toContain("Now write");
  await drop();
});
