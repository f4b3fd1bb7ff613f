import { expect, test } from "bun:test";
import { join } from "node:path";
import { tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";
import { linkSite } from "./link-site.ts";

test("no log has the code of a link, whatever it logs, and no password of one", async () => {
  await using folder = await tempFolder();
  const [accessPath, jsonPath] = [join(folder.path, "access.log"), join(folder.path, "log.json")];
  await using node = await testNode({
    logging: `log_filter = "trace"\nmemory_log_filter = "trace"\njson_log_file = ${JSON.stringify(jsonPath)}\naccess_log = ${JSON.stringify(accessPath)}\n`,
  });
  const { make, answer, put } = await linkSite(node, { "a.txt": "a" });
  const plain = await make("a.txt");
  const locked = await make("a.txt", { password: "pass-and-word", max_downloads: 5 });
  const box = await make("in", { upload: true });
  const requests = [
    answer(plain.address, { headers: { referer: `${node.url}${locked.address}?x` } }),
    answer(plain.address.replace("/link/", "/link//")),
    answer(plain.address.replace("/link/", "/preview/")),
    ...["/node//link/", "/NODE/Link/", "/%6eode/link/", "/node/%6cink/", "/node/link;x/"].map((prefix) =>
      answer(locked.address.replace("/node/link/", prefix)),
    ),
    answer(locked.address, { method: "POST", body: new URLSearchParams({ password: "pass-and-word" }) }),
    answer(`${plain.address}?download`),
    put(box.address, "new.txt", "new"),
  ];
  await Promise.all(requests);
  const lines = [
    '"GET /node/link/***/site/a.txt HTTP/1.1" 200',
    '"GET /node/link/***/site/a.txt? HTTP/1.1" 200',
    '"GET /node//link/***/site/a.txt HTTP/1.1" 404',
    '"GET /node/link;x/***/site/a.txt HTTP/1.1" 404',
    '"PUT /node/link/***/site/in/new.txt HTTP/1.1" 201',
    '/node/link/***/site/a.txt" ',
  ];
  const access = await until("the access log is written", async () => {
    const text = await Bun.file(accessPath).text();
    return lines.every((line) => text.includes(line)) ? text : undefined;
  });
  const memory = JSON.stringify(await node.call("node-server_log", { token: node.superToken }));
  const audit = JSON.stringify(await node.call("audit_list", { token: node.superToken }));
  const json = await Bun.file(jsonPath).text();
  for (const text of [access, memory, audit, json]) {
    for (const { address } of [plain, locked, box]) expect(text).not.toContain(address.split("/")[3]);
    expect(text).not.toContain("pass-and-word");
  }
  const [plainId, lockedId] = [plain.id ?? "", locked.id ?? ""];
  const nameOf = (link = "") => ({ [plainId]: "plain", [lockedId]: "locked", [box.id ?? ""]: "box" })[link];
  const codes = (JSON.parse(audit) as Array<{ fields: { event: string; link?: string } }>).map(
    ({ fields }) => `${fields.event} ${nameOf(fields.link)}`,
  );
  expect(codes.filter((code) => code.startsWith("link.")).sort()).toEqual([
    "link.made box",
    "link.made locked",
    "link.made plain",
    "link.used box",
    "link.used locked",
    "link.used plain",
    "link.used plain",
  ]);
  expect(codes).toContain("file.written undefined");
});
