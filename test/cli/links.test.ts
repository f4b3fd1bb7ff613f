import { expect } from "bun:test";
import { linkSite } from "../links/link-site.ts";
import { errorOf, User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";

interface Printed {
  readonly address: string;
  readonly url: string;
  readonly id?: string;
}

story(
  "links are made, listed and revoked on the command line, and a password is never an argument",
  async () => {
    await using node = await testNode();
    await using user = await User.open();
    const { put } = await linkSite(node, { "docs/år 1.txt": "text" });
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
    const does = (...args: string[]) => user.does(args, { env });

    const url = (await does("link", "site/docs/år 1.txt", "--expires", "90m")).trim();
    expect(url).toStartWith(`${node.url}/node/link/`);
    expect(await (await fetch(url)).text()).toBe("text");

    const locked = JSON.parse(
      await user.does(["link", "site/docs/år 1.txt", "--password", "--max-downloads", "2", "--json"], {
        env,
        stdin: "pass word\n",
      }),
    ) as Printed;
    expect((await fetch(locked.url)).status).toBe(401);
    const authorization = `Basic ${btoa(":pass word")}`;
    expect(await (await fetch(locked.url, { headers: { authorization } })).text()).toBe("text");

    const box = (await does("link", "site/in/", "--upload")).trim();
    expect(await put(new URL(box).pathname, "new.txt", "new")).toBe(201);

    const listed = await does("links", "site");
    const ends = "\\S+\\t\\S+Z\n";
    expect(listed).toMatch(new RegExp(`upload\\tin/\\tvalid\\t1\\tno\\t${ends}`));
    expect(listed).toMatch(
      new RegExp(`${locked.id}\\tdownload\\tdocs/år 1\\.txt\\tvalid\\t1 of 2\\tyes\\t${ends}`),
    );
    expect(listed).toMatch(new RegExp(`download\\tdocs/år 1\\.txt\\tvalid\\t1\\tno\\t${ends}`));
    await does("links", "site", "--revoke", locked.id ?? "");
    expect((await fetch(locked.url)).status).toBe(410);
    expect((await fetch(url)).status).toBe(200);
    const unsure = await user.run(["links", "site", "--all"], { env, stdin: "no\n" });
    expect([unsure.code, (await fetch(url)).status]).toEqual([1, 200]);
    await does("links", "site", "--all", "--yes");
    expect([(await fetch(url)).status, await does("links", "site", "--json")]).toEqual([404, "[]\n"]);

    for (const [args, code] of [
      [["link", "site/missing.txt"], 1],
      [["link", "./here.txt"], 2],
      [["link", "site/docs/år 1.txt", "--expires", "soon"], 2],
      [["link", "site/docs/år 1.txt", "--max-downloads", "0"], 2],
      [["links", "site", "--all", "--revoke", "x"], 2],
    ] as const)
      expect([args, (await user.run([...args], { env })).code]).toEqual([args, code]);
    const unread = await user.run(["link", "site/docs/år 1.txt", "--password", "--json"], { env, stdin: "" });
    expect([unread.code, errorOf(unread)]).toMatchObject([
      1,
      { kind: "Other", detail: expect.stringContaining("no password was given") },
    ]);
  },
);

story("a link to a bucket with a host name is at that name, and lasts 366 days at most", async () => {
  await using node = await testNode();
  await using user = await User.open();
  await linkSite(node, { "a.txt": "text" });
  await node.call("static-bucket_update", {
    token: node.superToken,
    name: "site",
    hosts: ["files.example.org"],
  });
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const url = new URL((await user.does(["link", "site/a.txt"], { env })).trim());
  expect(url.host).toBe(`files.example.org:${new URL(node.url).port}`);
  const sent = await fetch(node.url + url.pathname, { headers: { host: url.host } });
  expect(await sent.text()).toBe("text");
  const long = await user.run(["link", "site/a.txt", "--expires", "2y"], { env });
  expect([long.code, long.stderr]).toEqual([2, expect.stringContaining("366d")]);
});

story("a link that works on this machine only is printed with a note", async () => {
  await using node = await testNode();
  await using user = await User.open();
  await linkSite(node, { "a.txt": "text" });
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const note =
    "note: this address works on this machine only; log in with the server's public name to make links for others\n";
  const link = ["link", "site/a.txt"];
  const made = await user.run(link, { env });
  expect([made.code, made.stdout, made.stderr]).toEqual([
    0,
    expect.stringContaining(`${node.url}/node/link/`),
    expect.stringMatching(new RegExp(`^${note}It ends `)),
  ]);
  expect((await user.run([...link, "--json"], { env })).stderr).toBe("");
  await user.does(["buckets", "update", "site", "--host", "site.localhost"], { env });
  const atHost = await user.run(link, { env });
  expect([atHost.code, atHost.stderr]).toEqual([0, expect.not.stringContaining("note:")]);
});

story(
  "a link into a public bucket is printed with the address at which everybody can read the file",
  async () => {
    await using node = await testNode();
    await using user = await User.open();
    await linkSite(node, { "a.txt": "text" });
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
    await user.does(["buckets", "update", "site", "--public"], { env });
    const made = await user.run(["link", "site/a.txt"], { env });
    const note = `note: everybody can read the file at ${node.url}/node/static/site/a.txt, because the bucket is public`;
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining(note)]);
    const limited = await user.run(["link", "site/a.txt", "--max-downloads", "1", "--json"], { env });
    expect([limited.code, errorOf(limited)]).toMatchObject([1, { reason: "public_bucket" }]);
  },
);
