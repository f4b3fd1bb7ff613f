import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { globally, superToken } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
import { loggedIn } from "../support/cli.ts";
import { story } from "../support/process.ts";

const shop = {
  name: "shop.example.com",
  state: "issued" as const,
  issuer: "Let's Encrypt",
  from: Date.UTC(2027, 0, 1),
  until: Date.UTC(2027, 3, 1),
  renew_at: Date.UTC(2027, 2, 1),
  problem: null,
};
const docs = {
  name: "docs.example.com",
  state: "failed" as const,
  issuer: null,
  from: null,
  until: null,
  renew_at: null,
  problem: {
    reason: "dns_missing",
    detail: "NXDOMAIN\u001b[2J",
    advice: "add an A record",
    at: Date.UTC(2027, 0, 2),
    retry_at: Date.UTC(2027, 0, 2, 0, 5),
  },
};

/** The method that lists certificates, with those of a story. */
const listing = (present: () => readonly object[]) =>
  method({
    effect: "reads",
    doc: "Lists those of the story.",
    need: globally("node.metrics"),
    params: {},
    result: z.array(z.unknown()),
    run: () => [...present()],
  });

story("certs lists names, issuers, ends and what went wrong, for people and for scripts", async () => {
  const renewals: string[] = [];
  const methods = {
    "node-server_certificates": listing(() => [docs, shop]),
    "node-server_renew_certificate": method({
      effect: "changes",
      doc: "Notes what is asked for.",
      need: superToken,
      params: { name: z.string() },
      result: z.unknown(),
      run: (_, { name }) => {
        renewals.push(name);
        return shop;
      },
    }),
  };
  await using scene = await loggedIn({ methods });
  const { node, user } = scene;
  const { code, stdout, stderr } = await user.run(["certs"]);
  expect(code).toBe(0);
  expect(stdout.split("\n").map((line) => line.split("\t"))).toEqual([
    ["docs.example.com", "failed", "-", "-", "2027-01-02T00:05:00Z", "dns_missing"],
    ["shop.example.com", "issued", "Let's Encrypt", "2027-04-01T00:00:00Z", "2027-03-01T00:00:00Z", "-"],
    [""],
  ]);
  expect(stderr).toContain("docs.example.com: add an A record (NXDOMAIN");
  expect(stderr).not.toContain("\u001b");
  expect(JSON.parse(await user.does(["certs", "--json"]))).toEqual([docs, shop]);
  expect((await user.run(["certs", "renew", "shop.example.com"])).stderr).toContain("node-server certs");
  expect(renewals).toEqual(["shop.example.com"]);

  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token };
  expect((await user.run(["certs"], { env })).code).toBe(0);
  expect((await user.run(["certs", "renew", "shop.example.com"], { env })).code).toBe(3);
});

story("a bucket with a host name says how far its certificate is", async () => {
  let present: object[] = [];
  const methods = { "node-server_certificates": listing(() => present) };
  await using scene = await loggedIn({ methods });
  const { node, user } = scene;
  const host = ["--host", docs.name];
  present = [{ ...docs, state: "waiting", problem: null }];
  const created = await user.run(["buckets", "create", "docs", ...host]);
  const issuing = "note: the certificate for docs.example.com is being issued; `node-server certs`";
  expect([created.code, created.stderr]).toEqual([0, expect.stringContaining(issuing)]);
  const site = join(node.folder, "site");
  await mkdir(site);
  await writeFile(join(site, "index.html"), "x");
  const commands = [
    ["buckets", "show", "docs"],
    ["buckets", "update", "docs", ...host],
    ["deploy", site, "docs"],
  ];
  const told = async () => {
    const all: boolean[] = [];
    for (const command of commands) {
      const { code, stderr } = await user.run(command);
      expect([command, code]).toEqual([command, 0]);
      all.push(stderr.includes("note: docs.example.com: add an A record"));
    }
    return all;
  };
  present = [docs, shop];
  expect(await told()).toEqual([true, true, true]);
  expect((await user.run(["buckets", "update", "docs", "--cors"])).stderr).not.toContain("certs");
  present = [{ ...shop, name: docs.name }];
  expect(await told()).toEqual([false, false, false]);
});

story("certs tells a server that orders none from one that has no name", async () => {
  const status = method({
    effect: "reads",
    doc: "Says that the server orders certificates.",
    need: globally("node.metrics"),
    params: {},
    result: z.unknown(),
    run: () => ({ verdict: "well", reasons: [], orders_certificates: true }),
  });
  const methods = { "node-server_certificates": listing(() => []), "node-server_status": status };
  await using scene = await loggedIn({ methods });
  const { code, stderr } = await scene.user.run(["certs"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("has no name for one")]);
});

story("certs says so where the server orders none", async () => {
  await using scene = await loggedIn();
  const { code, stdout, stderr } = await scene.user.run(["certs"]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("auto = true");
  const renewing = await scene.user.run(["certs", "renew", "shop.example.com"]);
  expect([renewing.code, renewing.stderr]).toEqual([1, expect.stringContaining("auto = true")]);
});
