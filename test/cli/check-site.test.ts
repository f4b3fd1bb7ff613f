import { expect } from "bun:test";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { deploySite, fill } from "./deploy-site.ts";

story("check-site names the lines of a folder or a bucket that cannot be used, and ends with 1", async () => {
  await using site = await deploySite({});
  const { run, node } = site;
  const files = {
    _redirects: "/a /b 301\n/c https://api.example.org/:splat 200\n/page /other\n/* /spa.html 200\n",
    _headers: "/*\n  X-Frame-Options: DENY\n  Set-Cookie: a=b\n",
    "page.html": "page",
  };
  const problems = [
    "_headers:3: Set-Cookie: a bucket cannot set it: sign-in belongs to the server",
    '_redirects:2: "https://api.example.org/:splat": the target has :splat, which the path does not have',
    "_redirects:3: warning: a file exists at /page, which is sent instead; write 301! to apply the rule anyway",
    "_redirects:4: warning: there is no file /spa.html to answer with",
    "",
  ].join("\n");
  await fill(site.home.file("dist"), files);
  expect(await run("check-site", site.home.file("dist"))).toMatchObject({ code: 1, stdout: problems });
  for (const [path, body] of Object.entries(files))
    await node.call("static-bucket-file_upload", { token: node.superToken, name: "site", path, body });
  expect(await run("check-site", "site")).toMatchObject({ code: 1, stdout: problems });
  const json = JSON.parse((await run("check-site", "site", "--json")).stdout) as unknown[];
  expect(json[0]).toEqual({
    file: "_headers",
    line: 3,
    level: "error",
    why: "Set-Cookie: a bucket cannot set it: sign-in belongs to the server",
  });
  await fill(site.home.file("fine"), { _redirects: "/x /page 301\n" });
  expect(await run("check-site", site.home.file("fine"))).toMatchObject({ code: 0, stdout: "" });
  // As for deploy, a name is a folder's if there is one, whatever buckets there are.
  expect(await run("check-site", "fine")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("the folder fine"),
  });
  const unknown = await run("check-site", "nowhere", "--json");
  expect([unknown.code, errorOf(unknown)]).toMatchObject([1, { kind: "NotFound" }]);
});

story("check-site names rules that are never applied, and loops with clean URLs", async () => {
  await using site = await deploySite({});
  const { run } = site;
  await fill(site.home.file("dist"), {
    "index.html": "start",
    "docs/index.html": "docs",
    "about.html": "about",
    _redirects: [
      "/blog/:year/* /posts/:splat 301",
      "/blog/:name/* /other 302",
      "/ /index.html 301!",
      "/docs/ /docs/index.html 301!",
      "/about /about.html 301!",
      "/feed /index.xml",
      "/feed/ /index.xml",
      "/fine /about.html 301!",
      "/twice /a",
      "/twice /b 301!",
      "/twice/ /c 301!",
      "/* /index.html 200",
      "/late /about 301",
      "/forced /about 301!",
      "",
    ].join("\n"),
  });
  const json = JSON.parse((await run("check-site", site.home.file("dist"), "--json")).stdout) as {
    line: number;
    level: string;
    why: string;
  }[];
  expect(json.map(({ line, level, why }) => `${line} ${level} ${why.replace(/^.*: /, "")}`)).toEqual([
    "2 warning this rule is never applied",
    "3 warning an endless loop",
    "4 warning an endless loop",
    "5 warning an endless loop",
    "11 warning this rule is never applied",
    "13 warning this rule is never applied",
  ]);
});
