import { expect } from "bun:test";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { configText, eachStore, type TestNode, testNode } from "../support/node.ts";

const style = "p { color: red }\n".repeat(100);

async function reload(node: TestNode, cacheBytes: number): Promise<void> {
  const top = `static_path = ${JSON.stringify(join(node.folder, "static"))}\nstatic_cache_bytes = ${cacheBytes}\n`;
  await node.editConfig(configText(node.databaseUrl, { top, files: node.files }));
}

/** Everything that an answer says, but for the time of day and what is drawn at random. */
async function answerText(url: string, init: BunFetchRequestInit): Promise<string> {
  const answer = await fetch(url, { ...init, decompress: false });
  const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}`).sort();
  const told = lines.filter((line) => !line.startsWith("date:"));
  const body = Buffer.from(await answer.arrayBuffer()).toString("latin1");
  return [answer.status, ...told, body].join("\n").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "boundary");
}

eachStore(
  "the answers from memory are those from the store, header by header, and the budget can be changed while it runs",
  async (store) => {
    const logging = 'memory_log_filter = "info"';
    await using node = await testNode({ ...store, top: "static_cache_bytes = 0\n", logging });
    const packable = { "a.css": style, "docs/index.html": style, "x.js": style, "x.js.gz": "gz" };
    const files = { ...packable, "b.bin": "0123456789" };
    const site = await siteWith(node, files, { cors: true });
    // A time of change within the last second could not be compared with that of a request.
    const hourAgo = Math.floor(Date.now() / 1000) - 3600;
    for (const name of Object.keys(files)) await site.stored.setModified(name, hourAgo);
    const old = "Sat, 01 Jan 2000 00:00:00 GMT";
    const asks: Record<string, string>[] = [{}, { "if-modified-since": old }, { "if-unmodified-since": old }];
    for (const encoding of ["gzip", "br", "zstd", "gzip;q=0.3, br;q=0.2"])
      asks.push({ "accept-encoding": encoding });
    for (const range of ["bytes=0-3", "bytes=-4", "bytes=3-", "bytes=99999-", "bytes=a-b", "bytes=0-1,4-5"])
      asks.push({ range }, { range, "accept-encoding": "gzip" }, { range, "if-range": '"other"' });
    const authorization = `Basic ${Buffer.from(node.superToken).toString("base64")}`;
    const all = async () => {
      const answers: unknown[] = [];
      for (const path of ["/a.css", "/b.bin", "/docs/", "/x.js"]) {
        const { headers: plain } = await site.get(path);
        const { headers: packed } = await site.get(path, { "accept-encoding": "br" });
        const [tag, brTag] = [plain.get("etag") ?? "", packed.get("etag") ?? ""];
        const date = plain.get("last-modified") ?? "";
        const range = "bytes=1-2";
        const own = [
          ...[{ "if-none-match": tag }, { "if-none-match": brTag }, { "if-match": brTag }],
          ...[{ "if-none-match": brTag, "accept-encoding": "br" }, { "if-modified-since": date }],
          ...[
            { "if-match": tag, range },
            { "if-range": tag, range },
            { "if-range": date, range },
          ],
        ];
        for (const method of ["GET", "HEAD", "OPTIONS", "PUT"])
          for (const more of [...asks, ...own]) {
            const headers = { "accept-encoding": "identity", ...more };
            const url = `${node.url}/node/static/site${path}`;
            answers.push([path, method, more, await answerText(url, { method, headers })]);
            if (method === "OPTIONS" || method === "PUT") continue;
            const [dav, credentials] = [`${node.url}/node/static-webdav/site${path}`, { authorization }];
            const init = { method, headers: { ...headers, ...credentials } };
            answers.push(["WebDAV", path, method, more, await answerText(dav, init)]);
          }
      }
      return answers;
    };
    const fromStore = await all();
    expect(await all()).toEqual(fromStore);
    await reload(node, 1024 * 1024);
    for (const _ of [1, 2]) expect(await all()).toEqual(fromStore);
    await reload(node, 0);
    expect(await all()).toEqual(fromStore);
  },
);
