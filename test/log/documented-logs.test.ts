import { expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { LogFile } from "../../src/log/log-file.ts";
import { blockOf, replaced, sectionOf } from "../support/documented.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

test("the documented filters leave the audit in the file and in memory", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const [, lines = ""] = blockOf(sectionOf("monitor.md", "Audit"), "toml").split(/^\[logging\].*\n/m);
  const logging = replaced(lines, [['"logs/audit.log"', JSON.stringify(path)]]);
  await using node = await testNode({ logging });
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  await until("the entry is in the file", () => readFileSync(path, "utf8").includes('"bucket.created"'));
  expect(node.node.ring.entries().map(({ fields }) => fields.event)).toContain("bucket.created");
});

test("log files are for owner and group, less the umask, and have the group of a setgid folder", async () => {
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o2750);
  const modes = [0o027, 0o077].map((umask) => {
    const before = process.umask(umask);
    try {
      const path = join(folder.path, `${umask}.log`);
      new LogFile({ path, onFailed: () => undefined }).close();
      expect(statSync(path).gid).toBe(statSync(folder.path).gid);
      return statSync(path).mode & 0o777;
    } finally {
      process.umask(before);
    }
  });
  expect(modes).toEqual([0o640, 0o600]);
});
