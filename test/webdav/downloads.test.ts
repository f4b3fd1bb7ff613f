import { expect } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { eachStore } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";

const sharedNode = sharedNodes();

eachStore(
  "a part of a file is given when it is asked for, and the whole when the file has changed since",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await storedSite(node, { "a.txt": "0123456789" });
    const whole = await dav("GET", "/a.txt");
    const [tag, date] = [whole.headers.get("etag") ?? "", whole.headers.get("last-modified") ?? ""];
    expect([whole.status, whole.headers.get("accept-ranges"), await whole.text()]).toEqual([
      200,
      "bytes",
      "0123456789",
    ]);
    for (const [headers, status, text, range] of [
      [{ range: "bytes=2-4" }, 206, "234", "bytes 2-4/10"],
      [{ range: "bytes=0-0" }, 206, "0", "bytes 0-0/10"],
      [{ range: "bytes=7-" }, 206, "789", "bytes 7-9/10"],
      [{ range: "bytes=-2" }, 206, "89", "bytes 8-9/10"],
      [{ range: "bytes=2-4", "if-range": tag }, 206, "234", "bytes 2-4/10"],
      [{ range: "bytes=2-4", "if-range": '"other"' }, 200, "0123456789", null],
      [{ range: "bytes=2-4", "if-range": `W/${tag}` }, 200, "0123456789", null],
      [{ range: "bytes=2-4", "if-range": "Sat, 01 Jan 2000 00:00:00 GMT" }, 200, "0123456789", null],
      [{ "if-none-match": tag }, 304, "", null],
      [{ "if-modified-since": date }, 304, "", null],
      [{ "if-match": '"other"' }, 412, undefined, null],
    ] as const) {
      const answer = await dav("GET", "/a.txt", headers);
      const body = await answer.text();
      expect([headers, answer.status, text === undefined ? undefined : body]).toEqual([
        headers,
        status,
        text,
      ]);
      expect(answer.headers.get("content-range")).toBe(range);
    }
    const beyond = await dav("GET", "/a.txt", { range: "bytes=10-" });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    const parts = await dav("GET", "/a.txt", { range: "bytes=0-1,8-9" });
    expect([parts.status, parts.headers.get("content-type")]).toEqual([
      206,
      expect.stringMatching(/^multipart\/byteranges; boundary=/),
    ]);
    expect(await parts.text()).toMatch(/bytes 0-1\/10\r\n\r\n01\r\n[\s\S]*bytes 8-9\/10\r\n\r\n89\r\n/);
  },
);

eachStore(
  "HEAD tells what GET tells, of a file, of an empty one, of a folder and of nothing, and sends no body",
  async (store) => {
    await using node = await sharedNode(store);
    const style = "p { color: red }\n".repeat(1000);
    const { dav, authorization } = await storedSite(node, {
      "style.css": style,
      "empty.txt": "",
      "folder/in.txt": "in",
    });
    for (const [path, status] of [
      ["/style.css", 200],
      ["/empty.txt", 200],
      ["/folder", 200],
      ["/folder/", 200],
      ["/", 200],
      ["/missing", 404],
    ] as const) {
      const [head, get] = [await dav("HEAD", path), await dav("GET", path)];
      await get.text();
      expect([path, head.status, get.status, await head.text()]).toEqual([path, status, status, ""]);
      for (const name of ["content-type", "etag", "last-modified", "accept-ranges"])
        expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
    }
    // Never compressed: its length is the one that PROPFIND told.
    const packed = await dav("HEAD", "/style.css", { "accept-encoding": "gzip, br, zstd" });
    expect(packed.headers.get("content-encoding")).toBe(null);
    for (const [path, length] of [
      ["/style.css", style.length],
      ["/empty.txt", 0],
    ] as const) {
      using wire = await Wire.open(node.url);
      const ask = (method: string, where: string) =>
        wire.write(
          `${method} /node/static-webdav/${node.bucket}${where} HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\n\r\n`,
        );
      ask("HEAD", path);
      await wire.hears(new RegExp(`content-length: ${length}\\r\\n`, "i"));
      await wire.hears(/\r\n\r\n/);
      ask("GET", "/folder/in.txt");
      // The next answer follows at once, so no byte of a body was in between.
      await wire.hears(/^HTTP\/1\.1 200 (?:[^\r]+\r\n)+\r\nHTTP\/1\.1 200 (?:[^\r]+\r\n)+\r\nin$/);
    }
  },
);

eachStore(
  "a folder in a browser is a page that lists what it holds, whatever the names, and runs nothing of them",
  async (store) => {
    await using node = await sharedNode(store);
    const names = [
      "<script>alert(1)<\u2215script>\"&'.txt",
      "100% #1?.txt",
      "javascript:alert(1)",
      "ü 한 😀.txt",
    ];
    const files = Object.fromEntries(names.map((name) => [`folder/${name}`, `I am ${name}`]));
    const { dav } = await storedSite(node, { ...files, "folder/<b>/in.txt": "in" });
    const page = await dav("GET", "/folder/");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*sandbox/);
    const html = await page.text();
    expect(html).not.toMatch(/<script|<b>/);
    const links: Array<[href: string, text: string]> = [];
    let current: [string, string] | undefined;
    const reader = new HTMLRewriter().on("a", {
      element(element) {
        current = [fromHtml(element.getAttribute("href") ?? ""), ""];
        links.push(current);
      },
      text({ text }) {
        if (current !== undefined) current[1] += fromHtml(text);
      },
    });
    reader.transform(html);
    expect(links.map(([, text]) => text).sort()).toEqual(["..", "<b>/", ...names].sort());
    for (const [href, text] of links) {
      expect(href).toStartWith(`/node/static-webdav/${node.bucket}/`);
      const answer = await dav("GET", href.replace(`/node/static-webdav/${node.bucket}`, ""));
      const body = await answer.text();
      expect(answer.status).toBe(200);
      if (names.includes(text)) expect(body).toBe(`I am ${text}`);
      else expect(body).toContain("<!doctype html>");
    }
  },
);

function fromHtml(html: string): string {
  const signs: Record<string, string> = {
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    "#39": "'",
    "#34": '"',
    amp: "&",
  };
  return html.replace(/&(#?\w+);/g, (whole, name: string) => signs[name] ?? whole);
}
