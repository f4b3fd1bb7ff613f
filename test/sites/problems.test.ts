import { expect } from "bun:test";
import { rm } from "node:fs/promises";
import { siteWith } from "../support/bucket.ts";
import { deploySite } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

eachStore("the publication of a deploy names lines of its rules that cannot be used", async (store) => {
  await using node = await testNode(store);
  const token = node.superToken;
  await siteWith(node, { "index.html": "old" });
  const { deploy } = (await node.call("static-bucket_deploy_begin", { token, name: "site" })) as {
    deploy: string;
  };
  const files = {
    "index.html": "new",
    // Larger than what is read without waiting.
    _redirects: `${"# comment\n".repeat(9000)}/a b 301\n/x /missing.html 200\n`,
    _headers: "/*\n  Set-Cookie: a=b\n",
  };
  for (const [path, body] of Object.entries(files)) {
    const { status } = await fetch(`${node.url}/node/static-webdav/site@${deploy}/${path}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}` },
      body,
    });
    expect(status).toBe(201);
  }
  const published = (await node.call("static-bucket_deploy_publish", { token, name: "site", deploy })) as {
    problems: { file: string; line: number; level: string }[];
  };
  expect(published.problems.map(({ file, line, level }) => `${file}:${line} ${level}`)).toEqual([
    "_headers:2 error",
    "_redirects:9001 error",
    "_redirects:9002 warning",
  ]);
});

test("rules that cannot be read after a rollback are a problem of the site, and the rollback is done", async () => {
  await using node = await testNode({ store: "objects over sqlite" });
  const site = await deploySite(node);
  await site.write({ "index.html": "first", _headers: "/*\n  X-Lost: yes\n" });
  const lost = await site.contentFile("_headers");
  await site.deploy({ "index.html": "second" });
  await rm(lost);
  const { deploy, problems } = await site.rollback();
  expect(problems).toMatchObject([{ file: "_headers", line: 0, level: "error" }]);
  expect((await site.list()).find(({ state }) => state === "published")?.deploy).toBe(deploy);
});
