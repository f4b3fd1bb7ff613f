import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";

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
