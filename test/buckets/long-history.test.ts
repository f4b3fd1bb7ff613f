import { expect } from "bun:test";
import { Versions } from "../../src/buckets/objects/versions.ts";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import { openDatabase } from "../../src/db/database.ts";
import type { FileValue, FolderValue } from "../../src/db/entry-values.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases } from "../support/node.ts";
import { objectRows } from "../support/object-rows.ts";

const until = Date.now() + 86_400_000;
const file = (version: number): FileValue => ({
  blob: null,
  hash: "",
  size: 1,
  modified: 1,
  created: 1,
  version,
});
const folder = (id: string): FolderValue => ({ id, modified: 1, created: 1, version: 1 });
/** Names of which the order is another one in most languages, in UTF-16 and by whole paths. */
const names = ["a", "B", "a.txt", "a b", "é", "z", "\uffee", "😀", "_", "0"];

bothDatabases(
  "the history of a large folder that was deleted is read page by page, each file once",
  async (kind) => {
    await using rows = await objectRows(kind);
    const perFolder = 60;
    const expected = new Set<string>();
    await rows.removed("site", "7/tree", { entry: folder("top"), until });
    for (const name of names) {
      const files = new Map<string, unknown>();
      for (let at = 0; at < perFolder; at += 1) files.set(`${names[at % names.length]}-${at}`, file(1));
      await rows.putAll(`static-files/${name}`, files);
      await rows.entry("top", name, folder(name));
      await rows.entry("top", `${name}-file`, file(1));
      expected.add(`tree/${name}-file`);
      for (const below of files.keys()) expected.add(`tree/${name}/${below}`);
    }
    await rows.removed("site", "9/new.txt", { entry: file(9), until });
    await rows.removed("site", "3/old.txt", { entry: file(3), until });

    let statements = 0;
    const ended = () => {
      statements += 1;
    };
    const observers = { server: { ended } };
    const options = { create: false, observers };
    const database = await openDatabase(settingsFor(rows.databaseUrl), new LogHub(), options);
    const versions = new Versions(database, "site");
    statements = 0;
    const first = await versions.list(treeRoot, { max: 20, filesOnly: true });
    expect(first).toHaveLength(20);
    expect(first[0]?.path).toBe(treePath("new.txt"));
    // The clock, the removed names, the folder and what is in the first of its folders: nothing of the others.
    expect(statements).toBeLessThan(8);
    const seen: TreePath[] = [];
    const max = Math.ceil(expected.size / 9);
    for (let page = await versions.list(treeRoot, { max, filesOnly: true }); page.length > 0; ) {
      seen.push(...page.map(({ path }) => path));
      page = await versions.list(treeRoot, { max, filesOnly: true, after: page.at(-1) });
    }
    await database.close();
    expect([seen[0], seen.at(-1)]).toEqual([treePath("new.txt"), treePath("old.txt")]);
    const inTree: readonly string[] = seen.slice(1, -1);
    expect(inTree).toHaveLength(expected.size);
    expect(new Set(inTree)).toEqual(expected);
  },
);
