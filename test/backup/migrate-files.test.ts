import { expect } from "bun:test";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { databaseKinds } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";
import { story } from "../support/process.ts";
import { content, expected, look, newSite, upload } from "./migrate-site.ts";
import { treeOf } from "./support.ts";

// A dozen commands, each a process that opens a database and a store.
const manyCommandsMs = 60_000;

for (const kind of databaseKinds)
  story(
    `files go from the disk to a blob store, to another one, and back, over ${kind}`,
    async () => {
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
        expect.stringContaining("--files is not a file store: write disk"),
      ]);

      await mkdir(first);
      const moved = await home.run(["migrate", "--files", `file://${first}`]);
      expect({ code: moved.code, stderr: moved.stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          /^4 files copied to file:.*first, 0 files there already \(2 buckets\); the SHA-256 of every file is the same\.\nNow write url = "file:.*first" below \[files\] into .*config\.toml, and start the server\. The plain files below static_path stay as they are\.\n/s,
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
    },
    manyCommandsMs,
  );

story("what a move leaves behind is counted before it begins, unless everything is moved", async () => {
  const { home, token, configure } = await newSite("sqlite");
  await using _ = home;
  const move = async (name: string) => {
    await mkdir(home.file(name), { recursive: true });
    const { code, stderr } = await home.run(["migrate", "--files", `file://${home.file(name)}`]);
    return [code, /^note: .*\n(?=.* copied to )/m.exec(stderr)?.[0]];
  };
  const loseSome = async () => {
    const server = await home.serve({ env: { NODE_SERVER_KEEP_REMOVED_DAYS: "30" } });
    const call = (method: string, params: object = {}) =>
      server.call(method, { token, name: "site", ...params });
    await upload(server, token, "index.html", "new");
    await upload(server, token, "index.html", "newer");
    await call("static-bucket-file_delete", { path: "copy.html" });
    for (const publishes of [true, true, false]) {
      const { deploy } = (await call("static-bucket_deploy_begin")) as { deploy: string };
      if (publishes) await call("static-bucket_deploy_publish", { deploy });
    }
    await server.stop();
  };
  await loseSome();
  const note =
    "note: not moved: 2 earlier deploys, 1 unpublished deploy, 3 deleted or replaced files that could be restored\n";
  expect(await move("second")).toEqual([0, note]);
  await configure(`url = "file://${home.file("second")}"`);
  await loseSome();
  expect(await move("third")).toEqual([0, undefined]);
  expect((await home.run(["migrate", "--files", "disk", "--delete"])).stderr).toContain(
    "note: not moved: 2 earlier deploys, 1 unpublished deploy, ",
  );
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
      /note: not copied: b\/site\/gone\.txt \(deleted file\): its content is missing in .*first, too\n.*3 blobs copied.*\nNow write url/s,
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
