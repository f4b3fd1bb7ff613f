import { expect, test } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";
import { scaled } from "../support/tier.ts";
import {
  besiegedSite,
  disguisesFor,
  manyRequestsMs,
  mark,
  secrets,
  sendRaw,
  surroundings,
  targets,
} from "../support/traversal.ts";
import { within } from "../support/until.ts";

eachStore(
  scaled("no request line reads or lists anything outside the bucket, however it spells the way"),
  async (store) => {
    await using node = await testNode(store);
    await besiegedSite(node);
    const before = await surroundings(node);
    const { host } = new URL(node.url);
    const direct = ["/node/static/site/", "/"];
    // Which bucket and path a request line means is decided before any store is asked.
    const others = [
      ...["/node/static/site/inner/", "/node/static/site", "/node/static/", "//", ""],
      ...[`http://${host}/node/static/site/`, `http://${host}/`, "http://elsewhere/node/static/site/"],
      ...[
        "/node/static/site/%2e%2e/site/",
        "/node/static//site/",
        "/node/static/site//",
        "/NODE/static/site/",
      ],
    ];
    const request = (verb: string, target: string) =>
      `${verb} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(node.url, request("GET", "/node/static/site/inner/../a.txt"))).toEndWith(
      "\r\n\r\na",
    );
    const leaks: string[] = [];
    const statuses = new Set<string>();
    const wanted = targets(node);
    for (const [number, prefix] of [...direct, ...(node.store === "disk" ? others : [])].entries()) {
      const verbs = direct.includes(prefix) ? ["GET", "PUT", "DELETE"] : ["GET"];
      for (const [turn, target] of wanted.entries()) {
        const requests = disguisesFor(number * wanted.length + turn, wanted.length).flatMap((disguise) =>
          verbs.map((verb) => request(verb, prefix + disguise(target))),
        );
        const answers = await Promise.all(requests.map((one) => sendRaw(node.url, one)));
        for (const [at, answer] of answers.entries()) {
          const [head = ""] = answer.split("\r\n\r\n");
          statuses.add(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? `no answer (${answer.length} bytes)`);
          // A redirect that leads to another host would be a way out of another kind.
          const away = /^location:(?! *\/(?![/\\]))/im.test(head);
          if (secrets.test(answer) || away) leaks.push(`${requests[at]} -> ${answer.slice(0, 300)}`);
        }
      }
    }
    expect(leaks).toEqual([]);
    // Refusals in the words of the protocol, and no failure of the server's own.
    expect(
      [...statuses].filter((status) => !/^(200|204|301|308|400|404|405|414|431|505)$/.test(status)),
    ).toEqual([]);
    expect(await surroundings(node)).toEqual(before);
    expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  },
  manyRequestsMs,
);

eachStore(
  scaled("no path of a file method reads, lists, writes, moves or deletes anything outside the bucket"),
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const { stored } = await besiegedSite(node);
    const token = node.superToken;
    const before = await surroundings(node);
    const calls = (path: string): ReadonlyArray<readonly [string, Record<string, unknown>]> => [
      ["read", { path }],
      ["list", { path }],
      ["upload", { path, body: "written" }],
      ["upload", { path, base64: "AA==" }],
      ["rename", { from: path, to: "taken.txt" }],
      ["rename", { from: "a.txt", to: path }],
      ["rename", { from: path, to: path }],
      ["delete", { path }],
    ];
    const leaks: string[] = [];
    const faults = new Set<string>();
    // In rows there is nothing above a bucket: a way to another bucket, to a file beside it, and to one of the machine.
    const wanted = targets(node).filter((_, at) => node.store === "disk" || [1, 2, 8].includes(at));
    for (const [turn, target] of wanted.entries()) {
      for (const disguise of disguisesFor(turn, wanted.length)) {
        const path = disguise(target);
        for (const [method, params] of calls(path)) {
          const reply = await node.send(`static-bucket-file_${method}`, { token, name: "site", ...params });
          const { result, error } = reply;
          const text = typeof result === "string" ? Buffer.from(result, "base64").toString() : "";
          if (secrets.test(JSON.stringify(result) ?? "") || secrets.test(text) || text.includes(mark))
            leaks.push(`${method} ${JSON.stringify(params)} -> ${JSON.stringify(result)}`);
          if (error !== undefined) faults.add(`${error.code}`);
          const told = JSON.stringify(error ?? "");
          if (told.includes(node.folder) && !path.includes(node.folder.slice(1)))
            leaks.push(`${method} told ${told}`);
        }
      }
      // Many disguises are legal names of files, which are then made inside; the next target begins anew.
      expect(await surroundings(node)).toEqual(before);
      for (const name of await stored.names()) await stored.remove(name);
      await stored.write({ "a.txt": "a", "taken.txt": "a" });
      await stored.makeFolder("inner");
    }
    expect(leaks).toEqual([]);
    expect([...faults].sort()).toEqual(["105", "108"]);
  },
  manyRequestsMs,
);

eachStore("a bucket's name is no way out either", async (store) => {
  await using node = await testNode(store);
  const token = node.superToken;
  await besiegedSite(node);
  const before = await surroundings(node);
  for (const name of [
    "..",
    ".",
    "",
    "site/..",
    "../static/site",
    "site/../site-two",
    "/",
    "site\0",
    "~staging",
    "site\\",
  ]) {
    for (const [method, params] of [
      ["read", { path: "secret.txt" }],
      ["list", {}],
      ["upload", { path: "new.txt", body: "x" }],
      ["rename", { from: "secret.txt", to: "b.txt" }],
      ["delete", { path: "secret.txt" }],
    ] as const) {
      const { code } = await node.refused(`static-bucket-file_${method}`, { token, name, ...params });
      expect({ name, method, code }).toEqual({ name, method, code: expect.any(Number) });
    }
    for (const change of [{ name }, { name: "fine", path: name }])
      await node.refused("static-bucket_create", { token, ...change });
  }
  expect(await surroundings(node)).toEqual(before);
});

test("a path longer than the disk can name is refused, and leaves the bucket listable", async () => {
  await using node = await testNode();
  const token = node.superToken;
  await siteWith(node, { "a.txt": "a" });
  const deep = `${"d/".repeat(2500)}f`;
  const upload = { token, name: "site", path: deep, body: "x" };
  expect(await node.send("static-bucket-file_upload", upload)).toMatchObject({ error: { code: 108 } });
  const list = node.call("static-bucket-file_list", { token, name: "site" });
  expect(await within("the bucket is listed", list)).toMatchObject([{ path: "a.txt" }]);
  expect((await fetch(`${node.url}/node/static/site/${deep}`)).status).toBeOneOf([400, 404, 414]);
});
