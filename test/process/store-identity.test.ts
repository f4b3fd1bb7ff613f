import { expect } from "bun:test";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { storedKeys } from "../support/object-rows.ts";
import { type Home, newHome, refused, type Server, story } from "../support/process.ts";

const storeOf = (home: Home, folder = "blobs") => pathToFileURL(home.file(folder)).href;
const filesIn = (url: string) => ({ files: `url = ${JSON.stringify(url)}\n` });

async function upload(server: Server, token: string, path: string, body = "hello") {
  await server.call("static-bucket-file_upload", { token, name: "site", path, body });
}

async function textOf(server: Server, path: string): Promise<string | number> {
  const answer = await fetch(`${server.url}/node/static/site/${path}`);
  return answer.ok ? answer.text() : answer.status;
}

/** A stopped server with a bucket and a file in a folder of blobs. */
async function newSite(): Promise<{ readonly home: Home; readonly token: string }> {
  const home = await newHome();
  await mkdir(home.file("blobs"));
  await home.configure(filesIn(storeOf(home)));
  const server = await home.serve();
  const token = server.superToken;
  await server.call("static-bucket_create", { token, name: "site" });
  await upload(server, token, "a.txt");
  await server.stop();
  return { home, token };
}

/** Expects that neither `check --connect` nor a start goes on. */
async function expectRefused(home: Home, why: RegExp): Promise<void> {
  for (const args of [["check", "--connect"], ["serve"]]) {
    const { code, stderr } = await home.run(args);
    expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: expect.stringMatching(why) });
  }
}

story("a new database does not begin on the store of another one, and deletes nothing in it", async () => {
  const { home, token } = await newSite();
  await using _ = home;
  const before = await storedKeys(home.file("blobs"));
  await rename(home.file("data"), home.file("lost"));
  await expectRefused(home, /blobs belongs to another database.*check --files --claim/s);
  // The start has made a database, of which nothing is in the store.
  const repair = await home.run(["check", "--files", "--repair"]);
  expect(repair).toMatchObject({ code: 1, stderr: expect.stringContaining("belongs to another database") });
  expect(await storedKeys(home.file("blobs"))).toEqual(before);
  await rm(home.file("data"), { recursive: true });
  await rename(home.file("lost"), home.file("data"));
  const server = await home.serve();
  expect(await textOf(server, "a.txt")).toBe("hello");
  await upload(server, token, "b.txt");
  await server.stop();
});

story("a restored database takes over the store of the one that it replaces, and of no other", async () => {
  const { home, token } = await newSite();
  await using _ = home;
  expect(await home.run(["backup", "b.tar.zst"])).toMatchObject({ code: 0 });
  const first = await home.serve();
  await upload(first, token, "later.txt");
  await first.stop();
  const keys = await storedKeys(home.file("blobs"));

  await using second = await newHome(filesIn(storeOf(home)));
  expect(await second.run(["restore", home.file("b.tar.zst"), "--yes"])).toMatchObject({ code: 0 });
  await expectRefused(second, /blobs belongs to another database/);

  expect(await home.run(["restore", "b.tar.zst", "--yes"])).toMatchObject({ code: 0 });
  const restored = await home.serve();
  expect([await textOf(restored, "a.txt"), await textOf(restored, "later.txt")]).toEqual(["hello", 404]);
  await restored.stop();
  expect(await storedKeys(home.file("blobs"))).toEqual(keys);

  // The first machine is given up.
  expect(await second.run(["check", "--files", "--claim"])).toMatchObject({
    stderr: expect.stringMatching(/This database is the owner of file:.*blobs now\./),
  });
  const moved = await second.serve();
  expect(await textOf(moved, "a.txt")).toBe("hello");
  await moved.stop();
  await expectRefused(home, /blobs belongs to another database/);
});

story("a store with an earlier state of the files is refused, until they are copied to it", async () => {
  const { home, token } = await newSite();
  await using _ = home;
  const [first, second] = [storeOf(home), storeOf(home, "second")];
  await mkdir(home.file("second"));
  expect(await home.run(["migrate", "--files", second])).toMatchObject({ code: 0 });
  await home.configure(filesIn(second));
  const server = await home.serve();
  await upload(server, token, "b.txt");
  for (const files of [filesIn(first), {}]) {
    await home.configure(files);
    expect(await server.reload()).toMatchObject({
      ...refused,
      line: expect.stringMatching(/file:.*second/),
    });
  }
  await server.stop();
  await expectRefused(
    home,
    /were last in file:.*second: set .* To move them to plain files .* migrate --files disk/,
  );
  await home.configure(filesIn(first));
  await expectRefused(
    home,
    /were last in file:.*second: set \[files\] url to that, .* To move them to file:.*blobs, stop/,
  );

  await home.configure(filesIn(second));
  expect(await home.run(["migrate", "--files", first])).toMatchObject({ code: 0 });
  // A copy is out of date once the server has run again.
  await (await home.serve()).stop();
  await home.configure(filesIn(first));
  await expectRefused(home, /were last in file:.*second/);
  await home.configure(filesIn(second));
  expect(await home.run(["migrate", "--files", first])).toMatchObject({ code: 0 });
  await home.configure(filesIn(first));
  const back = await home.serve();
  expect([await textOf(back, "a.txt"), await textOf(back, "b.txt")]).toEqual(["hello", "hello"]);
  await back.stop();
});

story("a store is claimed by nobody while a server uses the database", async () => {
  const { home, token } = await newSite();
  await using _ = home;
  const server = await home.serve();
  const other = home.file("other.toml");
  const config = await readFile(home.configPath, "utf8");
  for (const text of [config, config.replace(/^url = .*$/m, "")]) {
    await writeFile(other, text.replace(/^ws_listener = .*$/m, 'ws_listener = "127.0.0.1:0"'));
    expect(await home.run(["check", "--files", "--claim", "-c", other])).toMatchObject({ code: 1 });
  }
  await upload(server, token, "b.txt");
  await server.stop();
  const again = await home.serve();
  expect(await textOf(again, "b.txt")).toBe("hello");
  await again.stop();
});

story("a database that was copied to another one gives up its store", async () => {
  const { home, token } = await newSite();
  await using _ = home;
  const before = await readFile(home.configPath, "utf8");
  const copy = `sqlite://${home.file("copy.db")}?mode=rwc`;
  expect(await home.run(["migrate", "--to", copy, "--write-config"])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/file:.*blobs now belongs to the new database/),
  });
  const server = await home.serve();
  await upload(server, token, "b.txt");
  expect([await textOf(server, "a.txt"), await textOf(server, "b.txt")]).toEqual(["hello", "hello"]);
  await server.stop();
  await writeFile(home.configPath, before);
  await expectRefused(home, /blobs belongs to another database.*check --files --claim/s);
});
