// First: the configuration has the keys of all kinds that it finds when it is loaded.
import "../support/memory-blobs.ts";
import { expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { User } from "../support/cli.ts";
import { configText, testNode } from "../support/node.ts";

async function configure(user: User, files: string): Promise<void> {
  const text = configText(`sqlite://${user.file("node.db")}?mode=rwc`, { files });
  await writeFile(user.file("config.toml"), text);
  await chmod(user.file("config.toml"), 0o644);
}

test("a kind of blob store that is one file and one row keeps the files of a server", async () => {
  await using site = await testNode({ files: 'url = "memory://served"\nmemory_password = "open"\n' });
  const body = "text ".repeat(100_000);
  await site.call("static-bucket_create", { token: site.superToken, name: "site", is_private: false });
  await site.call("static-bucket-file_upload", { token: site.superToken, name: "site", path: "a.txt", body });
  const answer = await fetch(`${site.url}/node/static/site/a.txt`);
  expect(await answer.text()).toBe(body);
  await using user = await User.open();
  const checked = await user.does(["check", "--connect", "--files", "-c", site.configPath]);
  expect(checked).toContain("The store memory://served can be used.");
});

test("its keys and variables are checked as those of the others", async () => {
  await using user = await User.open();
  const check = (env: Record<string, string> = {}) => user.run(["check"], { env });
  await configure(user, 'url = "azure://name"\n');
  expect((await check()).stderr).toContain(
    'files.url: must be "file:///absolute/folder" or "s3://bucket/prefix" or "memory://name"',
  );
  await configure(user, 'url = "memory:name"\n');
  expect((await check()).stderr).toContain("files.url: must name the memory");
  await configure(user, 'url = "memory://name"\n');
  expect((await check()).stderr).toContain("files.url: needs memory_password");
  expect(await check({ MEMORY_PASSWORD: "open" })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("files.memory_password has the value of MEMORY_PASSWORD"),
  });
  await configure(user, 'url = "memory://name"\nmemory_password = "wrong"\n');
  expect((await check()).stderr).toContain("files.memory_password: is a secret, and ");
  expect((await user.run(["check", "--connect"])).stderr).toContain("the memory refused memory_password");
});

test("a migration to it names the variables that the server needs", async () => {
  await using user = await User.open();
  await configure(user, "");
  await user.does(["init"]);
  const env = { MEMORY_PASSWORD: "open" };
  expect(await user.run(["migrate", "--files", "memory://new"], { env })).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /copied to memory:\/\/new.*MEMORY_PASSWORD was taken from this environment/s,
    ),
  });
});
