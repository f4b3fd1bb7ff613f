import { expect } from "bun:test";
import { eachStore, testNode } from "../support/node.ts";
import { scaled } from "../support/tier.ts";
import {
  besiegedSite,
  disguisesFor,
  manyRequestsMs,
  secrets,
  sendRaw,
  surroundings,
  targets,
} from "../support/traversal.ts";

eachStore(
  scaled(
    "no address and no Destination of WebDAV reads, lists, writes, moves or deletes anything outside the bucket",
  ),
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    await besiegedSite(node);
    // Good for this bucket alone, so that nothing else is within its reach by an address of its own.
    const token = await node.newToken([
      {
        scopes: [{ static_bucket: "site" }],
        permissions: ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action })),
      },
    ]);
    const before = await surroundings(node);
    const { host } = new URL(node.url);
    const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
    const request = (verb: string, target: string, more = "", body = "") =>
      `${verb} ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\nConnection: close\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
    const bucket = "/node/static-webdav/site";
    expect(await sendRaw(node.url, request("GET", `${bucket}/a.txt`))).toEndWith("\r\n\r\na");
    const leaks: string[] = [];
    const statuses = new Set<string>();
    const isDisk = node.store === "disk";
    // Which bucket and path an address means is decided before any store is asked.
    const others = [`${bucket}/inner/`, bucket, "/node/static-webdav/", `http://${host}${bucket}/`];
    const wanted = targets(node).filter((_, at) => isDisk || [1, 2, 8].includes(at));
    for (const [at, prefix] of [`${bucket}/`, ...(isDisk ? others : [])].entries()) {
      for (const [number, target] of wanted.entries()) {
        const requests = disguisesFor(at * wanted.length + number, wanted.length).flatMap((disguise) => {
          const place = prefix + disguise(target);
          // What would end the line would only be another request.
          const header = place.replace(/[\0\r\n]/g, "");
          return [
            request("GET", place),
            request("PROPFIND", place, "Depth: 1\r\n"),
            request("PUT", place, "", "bad"),
            request("MKCOL", place),
            request("DELETE", place),
            request("COPY", `${bucket}/a.txt`, `Destination: ${header}\r\n`),
            request("MOVE", `${bucket}/inner`, `Destination: ${header}\r\n`),
          ];
        });
        for (let at = 0; at < requests.length; at += 40) {
          const answers = await Promise.all(requests.slice(at, at + 40).map((one) => sendRaw(node.url, one)));
          for (const [n, answer] of answers.entries()) {
            statuses.add(answer.slice(9, 12));
            if (secrets.test(answer)) leaks.push(requests[at + n] ?? "");
          }
        }
      }
    }
    expect(leaks).toEqual([]);
    expect(await surroundings(node)).toEqual(before);
    // 502 is for a Destination elsewhere, 505 for what is no request line at all.
    expect([...statuses].filter((status) => status === "500" || status === "503")).toEqual([]);
  },
  manyRequestsMs,
);
