import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { copyFiles } from "../../src/backup/copy-files.ts";
import { makeBackupFile } from "../../src/backup/make-backup.ts";
import { openBlobs } from "../../src/blobs/open-blobs.ts";
import { checkContent } from "../../src/buckets/maintenance/copy-blobs.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { readArchive } from "../backup/support.ts";
import { never, sha256 } from "../support/blob-stores.ts";
import { siteWith } from "../support/bucket.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, newDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { openRelay } from "../support/relay.ts";
import { distinctBytes, resumable } from "../support/resumable.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const hub = new LogHub();
const contents = {
  "small.txt": distinctBytes(20_000, 1),
  "large.bin": distinctBytes(700_000, 2),
};
const all = Number.POSITIVE_INFINITY;

/** A server whose files are in S3, without a cache, behind a relay that damages the next answers with content. */
async function damagedSite() {
  await using opening = new AsyncDisposableStack();
  const { port, location } = await seaweed();
  let left = 0;
  const stored = new Set<string>();
  let damaged = new Set<string>();
  const relay = opening.use(
    await openRelay(port, {
      onRequest(line) {
        const [, method, key = ""] = /^(GET|PUT|POST) \S*\/([0-9a-f]{8}-[0-9a-f-]{27})[? ]/.exec(line) ?? [];
        if (method !== "GET") stored.add(key);
        if (method !== "GET" || left === 0 || !damaged.has(key)) return undefined;
        left -= 1;
        return { kind: "damage" };
      },
    }),
  );
  const files = {
    url: `s3://${location.bucket}/${crypto.randomUUID()}`,
    endpoint: relay.url,
    access_key_id: location.accessKeyId,
    secret_access_key: location.secretAccessKey,
    cache_bytes: 0,
    request_timeout_ms: 20_000,
  };
  const folder = opening.use(await tempFolder());
  const database = await newDatabase("sqlite", folder.path);
  const lines = Object.entries(files).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  const opened = opening.move();
  return {
    folder: folder.path,
    settings: settingsFor(database.url),
    files: { ...files, path_style: true },
    /** Damages as many of the next answers with what is stored now; 0 ends it. */
    damage(answers: number) {
      left = answers;
      damaged = new Set(stored);
    },
    serve: () =>
      testNode({
        databaseUrl: database.url,
        newDatabase: true,
        store: "objects over sqlite",
        top: "static_cache_bytes = 0\n",
        files: lines.join(""),
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function filled(node: TestNode) {
  const { dav } = await webdavSite(node);
  for (const [path, bytes] of Object.entries(contents))
    expect((await dav("PUT", `/${path}`, {}, bytes)).status).toBe(201);
  return dav;
}

/** The hash of an answer's body; the status if it is an error, and "cut" if the body ended early. */
async function hashOf(asked: Promise<Response>): Promise<string | number> {
  try {
    const answer = await asked;
    return answer.status === 200 ? sha256(await answer.bytes()) : answer.status;
  } catch {
    return "cut";
  }
}

test.if(hasSeaweed)("a resumable upload never becomes a file of bytes that S3 answered wrongly", async () => {
  await using site = await damagedSite();
  await using node = await site.serve();
  const { dav } = await webdavSite(node);
  const { address, append, offsetOf } = resumable(node.url, node.superToken);
  const bytes = distinctBytes(60_000);
  const upload = async (name: string, damaged: number) => {
    const at = await address(`site/${name}`, bytes.length);
    await append(at, 0, bytes.slice(0, 25_000));
    await append(at, 25_000, bytes.slice(25_000, 50_000));
    site.damage(damaged);
    return { at, answer: await append(at, 50_000, bytes.slice(50_000)) };
  };
  const { answer } = await upload("one.bin", 1);
  expect([answer.status, answer.headers.get("upload-put-status")]).toEqual([204, "201"]);
  expect(await hashOf(dav("GET", "/one.bin"))).toBe(sha256(bytes));

  const refused = await upload("all.bin", all);
  expect(refused.answer.status).toBe(503);
  expect(await hashOf(dav("GET", "/all.bin"))).toBe(404);
  // What was uploaded is still there: its last byte finishes it.
  site.damage(0);
  expect(await offsetOf(refused.at)).toBe(bytes.length - 1);
  const again = await append(refused.at, bytes.length - 1, bytes.slice(-1));
  expect(again.headers.get("upload-put-status")).toBe("201");
  expect(await hashOf(dav("GET", "/all.bin"))).toBe(sha256(bytes));
});

test.if(hasSeaweed)("a file that S3 answers wrongly is never handed out as a whole", async () => {
  await using site = await damagedSite();
  await using node = await site.serve();
  const dav = await filled(node);
  const get = (path: string) => hashOf(fetch(`${node.url}/node/static/site/${path}`));
  const [small, large] = [sha256(contents["small.txt"]), sha256(contents["large.bin"])];
  const read = async (path: string) => {
    const params = { token: node.superToken, name: "site", path };
    const reply = await node.send("static-bucket-file_read", params).catch(() => undefined);
    if (reply === undefined) return "cut";
    return reply.error?.data.reason ?? sha256(Buffer.from(String(reply.result), "base64"));
  };
  const link = (await node.call("static-bucket-file_link", {
    token: node.superToken,
    name: "site",
    path: "",
    zip: true,
    expires_in: 60,
  })) as { address: string };
  const zip = async () => {
    // An answer may be cut before its head has been sent.
    const archive = await fetch(node.url + link.address)
      .then((answer) => answer.bytes())
      .catch(() => undefined);
    if (archive === undefined) return "cut";
    const path = join(site.folder, "a.zip");
    await Bun.write(path, archive);
    const script =
      "import hashlib,json,sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nprint(json.dumps({i:hashlib.sha256(z.read(i)).hexdigest() for i in z.namelist()}))";
    const { stdout, exitCode } = Bun.spawnSync(["python3", "-c", script, path]);
    return exitCode === 0 ? JSON.parse(stdout.toString()) : "cut";
  };
  const whole = expect.objectContaining({ "site/small.txt": small, "site/large.bin": large });
  expect(await zip()).toEqual(whole);

  // What was damaged on its way is asked for again, as long as nothing of it was passed on.
  site.damage(1);
  expect(await get("small.txt")).toBe(small);
  site.damage(1);
  expect(await hashOf(dav("GET", "/small.txt"))).toBe(small);
  site.damage(1);
  expect(await read("small.txt")).toBe(small);

  site.damage(all);
  expect(await get("small.txt")).toBe(502);
  expect(await read("small.txt")).toBe("blob_missing");
  expect(["cut", 502]).toContain(await get("large.bin"));
  expect(["cut", 502]).toContain(await hashOf(dav("GET", "/large.bin")));
  expect(await read("large.bin")).toBe("cut");
  expect(await zip()).toBe("cut");

  site.damage(0);
  await until("the relay is right again", async () => (await get("large.bin")) === large);
  expect([await get("small.txt"), await read("large.bin"), await zip()]).toEqual([small, large, whole]);
});

test.if(hasSeaweed)("a backup contains no bytes that S3 answered wrongly", async () => {
  await using site = await damagedSite();
  await using node = await site.serve();
  await filled(node);
  const path = join(site.folder, "backup.tar.zst");
  const backup = () =>
    makeBackupFile(
      path,
      {
        database: site.settings,
        configPath: node.configPath,
        serverUuid: undefined,
        files: { blobs: site.files },
      },
      { hub },
    );
  const files = async () =>
    Object.fromEntries(
      (await readArchive(path))
        .filter(({ name, kind }) => kind === "file" && name.startsWith("files/site/"))
        .map(({ name, bytes }) => [name.slice("files/site/".length), sha256(bytes)]),
    );
  const whole = Object.fromEntries(Object.entries(contents).map(([name, bytes]) => [name, sha256(bytes)]));
  await backup();
  expect(await files()).toEqual(whole);
  site.damage(all);
  await expect(backup()).rejects.toMatchObject({ data: { reason: "blob_missing" } });
  // The earlier one is still there.
  expect(await files()).toEqual(whole);
});

test.if(hasSeaweed)(
  "a migration and check --content ask again for what S3 answered wrongly, and take none of it",
  async () => {
    await using site = await damagedSite();
    await site.serve().then(async (node) => {
      await using _ = node;
      await filled(node);
    });
    const check = async () => {
      const database = await openDatabase(site.settings, hub, { create: false });
      const blobs = openBlobs(site.files, { sync: true });
      const found = await checkContent({ rows: database.removed, blobs, signal: never, progress() {} });
      await database.close();
      return found.map(({ location }) => location?.path).sort();
    };
    site.damage(2);
    expect(await check()).toEqual([]);
    site.damage(all);
    expect(await check()).toEqual(Object.keys(contents).sort());

    const copy = (to: { readonly url: string | undefined }) =>
      copyFiles({
        database: site.settings,
        staticPath: join(site.folder, "static"),
        serverUuid: "00000000-0000-4000-8000-000000000000",
        from: { ...site.files, cache_path: undefined, region: undefined },
        to: { ...site.files, cache_path: undefined, region: undefined, ...to },
        keepRemovedDays: 7,
        deletesOthers: false,
        begin: () => ({ add() {}, fileDone() {} }),
        hub,
        signal: never,
      });
    await mkdir(join(site.folder, "static"));
    const folder = join(site.folder, "blobs");
    await mkdir(folder);
    const target = { url: pathToFileURL(folder).href };
    expect(await copy(target)).toMatchObject({ copied: 0, failures: [{}, {}], lost: [] });
    site.damage(2);
    expect(await copy(target)).toMatchObject({ copied: 2, failures: [], lost: [] });

    site.damage(all);
    const plain = await copy({ url: undefined });
    expect(plain).toMatchObject({ copied: 0, failures: [{}, {}] });
    site.damage(1);
    expect(await copy({ url: undefined })).toMatchObject({ copied: 2, failures: [] });
    for (const [path, bytes] of Object.entries(contents))
      expect(sha256(await Bun.file(join(site.folder, "static/site", path)).bytes())).toBe(sha256(bytes));
  },
);

eachDatabase(
  "a file that was damaged in a folder of blobs is not handed out as a whole, unless the kernel sends it",
  async (kind) => {
    const store = `objects over ${kind}` as const;
    await using node = await testNode({ store, logging: 'memory_log_filter = "info"\n' });
    const files = {
      "small.bin": distinctBytes(20_000, 1),
      "page.txt": Buffer.from("a page ".repeat(60_000)),
      "large.bin": distinctBytes(700_000, 2),
      "right.bin": distinctBytes(20_000, 3),
    };
    const site = await siteWith(node, files);
    const authorization = `Basic ${btoa(node.superToken)}`;
    const dav = (path: string) =>
      hashOf(fetch(`${node.url}/node/static-webdav/site/${path}`, { headers: { authorization } }));
    for (const path of Object.keys(files)) {
      const place = await site.stored.contentFile(path);
      const bytes = await Bun.file(place).bytes();
      if (path !== "right.bin") bytes[100] = (bytes[100] ?? 0) ^ 1;
      await Bun.write(place, bytes);
    }
    const compressed = { "accept-encoding": "gzip" };
    for (let again = 0; again < 3; again += 1) {
      expect(await hashOf(site.get("/small.bin"))).toBe(502);
      expect(await hashOf(site.get("/page.txt", compressed))).toBe(502);
      expect(await hashOf(site.get("/large.bin"))).toBe(502);
      expect(await dav("small.bin")).toBe(502);
      expect(await hashOf(site.get("/right.bin"))).toBe(sha256(files["right.bin"]));
    }
    const read = { token: node.superToken, name: "site", path: "small.bin" };
    expect((await node.refused("static-bucket-file_read", read)).data).toMatchObject({
      reason: "blob_missing",
    });
    const [entry] = node.node.ring.entries().filter(({ fields }) => fields.event === "blob.missing");
    expect(entry?.fields).toMatchObject({ bucket: "site", path: "small.bin" });
  },
);
