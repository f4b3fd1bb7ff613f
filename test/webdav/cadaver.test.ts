import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clientStory, type TestNode, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findTool } from "../support/tools.ts";
import { webdavSite } from "../support/webdav.ts";

/** cadaver on the bucket `site`, with the credentials in its netrc and its commands typed one after the other. */
async function openCadaver(node: TestNode) {
  const tool = await findTool("the cadaver story", "cadaver");
  if (tool === undefined) return undefined;
  const { base, dav } = await webdavSite(node);
  const [login, password] = node.superToken.split(":");
  const netrc = `machine ${new URL(base).hostname} login ${login} password ${password}\n`;
  await writeFile(join(tool.home, ".netrc"), netrc, { mode: 0o600 });
  return {
    home: tool.home,
    dav,
    stored: storedFiles(node),
    type: async (...commands: string[]) =>
      (await tool.does([`${base}/`], { stdin: `${[...commands, "quit"].join("\n")}\n` })).replace(
        /\r/g,
        "\n",
      ),
    [Symbol.asyncDispose]: () => tool[Symbol.asyncDispose](),
  };
}

const count = (text: string, words: RegExp) => text.match(new RegExp(words, "g"))?.length ?? 0;

clientStory("cadaver puts, lists, gets, copies, moves and deletes files and folders", async (store) => {
  await using node = await testNode(store);
  await using site = await openCadaver(node);
  if (site === undefined) return;
  const { home, stored, type } = site;
  await writeFile(join(home, "a.txt"), "content of a");
  await writeFile(join(home, "odd name & 100% #1.txt"), "odd");
  const first = await type(
    "mkcol folder",
    "put a.txt",
    'put "odd name & 100% #1.txt"',
    "ls",
    "copy a.txt folder/copied.txt",
    "move a.txt moved.txt",
    "get moved.txt back.txt",
    'get "odd name & 100% #1.txt" "odd back.txt"',
    "ls folder",
  );
  expect(first).not.toMatch(/fail|error|could not/i);
  expect(first).toMatch(/Coll: +folder/);
  expect(first).toMatch(/ a\.txt +12 /);
  expect(first).toMatch(/ odd name & 100% #1\.txt +3 /);
  expect(first).toMatch(/ copied\.txt +12 /);
  expect(readFileSync(join(home, "back.txt"), "utf8")).toBe("content of a");
  expect(readFileSync(join(home, "odd back.txt"), "utf8")).toBe("odd");
  expect(await stored.paths()).toEqual([
    "folder",
    "folder/copied.txt",
    "moved.txt",
    "odd name & 100% #1.txt",
  ]);
  const second = await type("delete moved.txt", "rmcol folder", "ls");
  expect(second).not.toMatch(/fail|error/i);
  expect(second).not.toMatch(/moved\.txt +12|Coll: +folder/);
  expect(await stored.names()).toEqual(["odd name & 100% #1.txt"]);
  const third = await type("get moved.txt gone.txt", "mkcol missing/folder");
  expect(third).toMatch(/moved\.txt.*failed:[\s\S]*404 Not Found/);
  expect(third).toMatch(/missing\/folder.*failed:[\s\S]*409 Conflict/);
});

clientStory(
  "cadaver sets a property, finds it again in another session, and takes it away",
  async (store) => {
    await using node = await testNode(store);
    await using site = await openCadaver(node);
    if (site === undefined) return;
    await writeFile(join(site.home, "a.txt"), "a");
    const set = await site.type("put a.txt", 'propset a.txt colour "deep blue, grün"');
    expect(set).toMatch(/Setting property on `a\.txt': succeeded/);
    const read = await site.type("propget a.txt colour", "copy a.txt b.txt", "propget b.txt colour");
    expect(count(read, /Value of colour is: deep blue, grün/)).toBe(2);
    const removed = await site.type("propdel a.txt colour", "propget a.txt colour", "propget b.txt colour");
    expect(count(removed, /Value of colour is/)).toBe(1);
  },
);

clientStory(
  "cadaver locks a file, which then only its own session may change, and unlocks it",
  async (store) => {
    await using node = await testNode(store);
    await using site = await openCadaver(node);
    if (site === undefined) return;
    const { home, dav, stored, type } = site;
    await writeFile(join(home, "a.txt"), "first");
    await writeFile(join(home, "b.txt"), "second");
    // It ends without unlocking, so the lock outlives the session.
    const locking = await type("put a.txt", "lock a.txt", "put b.txt a.txt", "discover a.txt");
    expect(locking).toMatch(/Locking `a\.txt': succeeded/);
    expect(locking).toMatch(/Uploading b\.txt[\s\S]*succeeded/);
    const token = /opaquelocktoken:[^\s<>]+|urn:uuid:[0-9a-f-]{36}/.exec(locking)?.[0];
    expect(token).toBeDefined();
    expect(await stored.text("a.txt")).toBe("second");
    const other = await type("put a.txt", "delete a.txt", "discover a.txt");
    expect(count(other, /423 Locked/)).toBe(2);
    expect(other).toContain(String(token));
    expect(await stored.text("a.txt")).toBe("second");
    expect((await dav("UNLOCK", "/a.txt", { "lock-token": `<${token}>` })).status).toBe(204);
    const whole = await type("lock a.txt", "unlock a.txt", "discover a.txt", "delete a.txt");
    expect(whole).toMatch(/Unlocking `a\.txt': succeeded/);
    expect(whole).not.toMatch(/opaquelocktoken|urn:uuid/);
    expect(await stored.exists("a.txt")).toBe(false);
  },
);

clientStory("cadaver with a wrong password is asked again and gets nothing", async (store) => {
  await using node = await testNode(store);
  await using site = await openCadaver(node);
  if (site === undefined) return;
  await writeFile(join(site.home, "a.txt"), "a");
  await writeFile(join(site.home, ".netrc"), "machine 127.0.0.1 login nobody password wrong\n", {
    mode: 0o600,
  });
  const said = await site.type("put a.txt", "ls");
  expect(said).toMatch(/Could not (authenticate|access)|Authentication required|401/i);
  expect(await site.stored.names()).toEqual([]);
});
