import { expect } from "bun:test";
import { User } from "../support/cli.ts";
import { eachStore, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";

const readAndList = [{ static_bucket_file: "read" }, { static_bucket_file: "list" }];

eachStore(
  "a token that may only read lists, prints, copies and pulls the files of its bucket",
  async (store) => {
    await using node = await testNode(store);
    await using user = await User.open();
    await node.call("static-bucket_create", [node.superToken, "site"]);
    const large = "0123456789abcdef".repeat(400_000);
    // What visitors get by the rules of the site is not the file itself.
    const files = {
      "a.txt": "one",
      "docs/b.txt": "two",
      "large.txt": large,
      _redirects: "/a.txt /docs/b.txt 200!\n",
    };
    await storedFiles(node, "site").write(files);
    const token = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions: readAndList }]);
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token };
    expect(await user.does(["ls"], { env })).toBe("site/\n");
    const listed = JSON.parse(await user.does(["ls", "site", "--json"], { env })) as { path: string }[];
    expect(listed.map(({ path }) => path)).toEqual(["docs", "_redirects", "a.txt", "large.txt"]);
    expect(await user.does(["cat", "site/a.txt", "site/docs/b.txt"], { env })).toBe("onetwo");
    await user.does(["cp", "site/docs/b.txt", "./b.txt"], { env });
    expect(await Bun.file(user.file("b.txt")).text()).toBe("two");
    await user.does(["pull", "site", "here"], { env });
    for (const [path, text] of Object.entries(files))
      expect(await Bun.file(user.file(`here/${path}`)).text()).toBe(text);

    expect(await user.run(["cat", "site/none"], { env })).toMatchObject({ code: 1, stdout: "" });
    expect((await user.run(["cp", "./b.txt", "site/c.txt"], { env })).code).toBe(3);
    expect((await user.run(["ls", "other"], { env })).code).toBe(3);

    const wide = await node.newToken([{ scopes: [{ static_bucket: "docs-*" }], permissions: readAndList }]);
    const none = await user.run(["ls"], { env: { ...env, NODE_SERVER_TOKEN: wide } });
    expect([none.code, none.stdout, none.stderr]).toEqual([0, "", expect.stringContaining("docs-*")]);
  },
);

eachStore("a token that may only write copies files and folders into its bucket", async (store) => {
  await using node = await testNode(store);
  await using user = await User.open();
  await node.call("static-bucket_create", [node.superToken, "site"]);
  const scopes = [{ static_bucket: "site" }];
  const token = await node.newToken([{ scopes, permissions: [{ static_bucket_file: "write" }] }]);
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token };
  await Bun.write(user.file("box/a.txt"), "one");
  await Bun.write(user.file("box/sub/empty.txt"), "");
  await user.does(["cp", "-r", "./box", "site/in/"], { env });
  await user.does(["cp", "./box/a.txt", "site/named.txt"], { env });
  await user.does(["cp", "-", "site/piped.txt"], { env, stdin: "piped" });
  const files = storedFiles(node, "site");
  expect(await files.text("in/box/a.txt")).toBe("one");
  expect(await files.text("in/box/sub/empty.txt")).toBe("");
  expect(await files.text("named.txt")).toBe("one");
  expect(await files.text("piped.txt")).toBe("piped");
  for (const refused of [
    ["ls", "site"],
    ["cat", "site/named.txt"],
    ["rm", "-y", "site/named.txt"],
    ["cp", "./box/a.txt", "other/"],
  ])
    expect([refused, (await user.run(refused, { env })).code]).toEqual([refused, 3]);
});
