import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { linkSite } from "./link-site.ts";

const sharedNode = sharedNodes();

/** What a browser sends when a person opens an address. */
const visitor = (language = "en-GB,en;q=0.9,zh;q=0.8") => ({
  "user-agent":
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "accept-language": language,
});

async function shown(response: Response) {
  const text = await response.text();
  const { status, headers } = response;
  return {
    status,
    type: headers.get("content-type"),
    reason: headers.get("x-error-reason"),
    language: /<html lang="(\w+)">/.exec(text)?.[1],
    title: /<h1>(.*?)<\/h1>/s.exec(text)?.[1],
    text,
    headers,
  };
}

test("people see why a link does not work, in their language, and programs get a line of text", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const { make, ask } = await linkSite(node, { "a.txt": "a" });
  const once = await make("a.txt", { max_downloads: 1 });
  await (await ask(once.address)).text();
  const revoked = await make("a.txt", { max_downloads: 1 });
  await node.call("static-bucket_unlink", { token: node.superToken, name: "site", id: revoked.id });
  const short = await make("a.txt", { expires_in: 60 });
  const states = {
    "This link is used up": [once.address, 410, "used_up", "这个链接已用完"],
    "This link was revoked": [revoked.address, 410, "revoked", "这个链接已被撤销"],
    "This link has expired": [short.address, 410, "expired", "这个链接已过期"],
    "This link does not work": [`${short.address}x`, 404, null, "这个链接无法使用"],
  } as const;
  await clock.advance(61_000);
  for (const [title, [address, status, reason, inChinese]] of Object.entries(states)) {
    const page = await shown(await ask(address, { headers: visitor() }));
    expect(page).toMatchObject({ title, status, reason, language: "en", type: "text/html; charset=utf-8" });
    expect(page.headers.get("cache-control")).toBe("private, no-store");
    expect(page.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'nonce-\S+'; img-src data:; form-action/,
    );
    const chinese = await shown(await ask(address, { headers: visitor("zh-CN,zh;q=0.9,en;q=0.5") }));
    expect(chinese).toMatchObject({ title: inChinese, status, language: "zh" });
    const program = await shown(await ask(address));
    expect(program).toMatchObject({ status, reason, type: "text/plain; charset=utf-8", title: undefined });
  }
});

test("people see a page where a bucket has no file, unless it has its own, and never what they asked for", async () => {
  await using node = await sharedNode();
  const { ask, stored } = await linkSite(node, { "a.txt": "a" });
  await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, public: true });
  const base = `/node/static/${node.bucket}/`;
  for (const path of ["missing", "", "x/y/<script>alert(1)</script>"]) {
    const page = await shown(await ask(base + path, { headers: visitor() }));
    expect([path, page.status, page.title]).toEqual([path, 404, "Nothing is here"]);
    expect(page.text).not.toContain("alert(1)");
    expect(page.headers.get("vary")).toContain("accept");
  }
  for (const headers of [{}, { ...visitor(), accept: "image/avif,*/*" }]) {
    const plain = await ask(`${base}missing`, { headers });
    expect([plain.status, await plain.text()]).toEqual([404, "404 Not Found: there is no such file.\n"]);
  }
  const nowhere = await shown(await ask("/node/static/no-such-bucket/x", { headers: visitor() }));
  expect(nowhere).toMatchObject({ status: 404, title: "Nothing is here" });
  await stored.write({ "404.html": "<h1>Ours</h1>" });
  const own = await shown(await ask(`${base}missing`, { headers: visitor() }));
  expect([own.status, own.title]).toEqual([404, "Ours"]);
});

eachStore(
  "the note of a link is on its page, with name, size and end, before a download",
  async (options) => {
    await using node = await sharedNode(options);
    const { make, ask, answer } = await linkSite(node, { "<b>.txt": "x".repeat(1500), "in/a.txt": "a" });
    const note = "For you & me\n<script>alert(1)</script>";
    const { address, id } = await make("<b>.txt", { note, max_downloads: 1 });
    const page = await shown(await ask(address, { headers: visitor() }));
    expect(page).toMatchObject({ status: 200, title: "&lt;b&gt;.txt" });
    expect(page.text).toContain(
      "<blockquote>For you &amp; me\n&lt;script&gt;alert(1)&lt;/script&gt;</blockquote>",
    );
    expect(page.text).toMatch(
      /1\.5 kB · This link works until \d+ \w+|1\.5 kB · This link works until \w+ \d+/,
    );
    expect(page.text).toContain('<form method="post">');
    expect(page.text).not.toContain('type="password"');
    // The page is not a download, and its form is answered with the file.
    const sent = await ask(address, { method: "POST", headers: visitor() });
    expect([sent.status, await sent.text()]).toEqual([200, "x".repeat(1500)]);
    expect(sent.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''%3Cb%3E.txt");
    expect((await ask(address, { method: "POST", headers: visitor() })).status).toBe(410);
    const program = await make("in/a.txt", { note: "  hello  " });
    expect(await answer(program.address)).toEqual([200, "a"]);
    const zip = await make("in", { note, zip: true });
    expect(await shown(await ask(zip.address, { headers: visitor() }))).toMatchObject({ title: "in.zip" });
    const box = await make("in", { note, upload: true });
    expect((await shown(await ask(box.address, { headers: visitor("zh") }))).text).toContain(
      "For you &amp; me",
    );
    const listed = await node.call("static-bucket_links", [node.superToken, node.bucket]);
    expect(listed).toContainEqual(expect.objectContaining({ id, note }));
    expect(listed).toContainEqual(expect.objectContaining({ id: program.id, note: "hello" }));
  },
);

eachStore(
  "a drop box makes the folders below it that an upload names, and nothing above",
  async (options) => {
    await using node = await sharedNode(options);
    const { make, ask, stored } = await linkSite(node, { "in/old/a.txt": "old", "index.html": "page" });
    const { address } = await make("in", { upload: true });
    const send = async (folder: string, name: string, at = address) => {
      const answer = await ask(`${at}${name}?in=${encodeURIComponent(folder)}`, {
        method: "PUT",
        body: "new",
      });
      await answer.text();
      return answer.status;
    };
    expect(await send("album/2026", "b.txt")).toBe(201);
    expect(await send("old", "a.txt")).toBe(409);
    expect(await send("old/a.txt", "b.txt")).toBe(409);
    for (const folder of ["..", "../out", "a/../../b", "a\\b", "\0", ".~staged-x", "x".repeat(300)])
      expect([folder, (await send(folder, "c.txt")) === 201]).toEqual([folder, false]);
    expect(await stored.contents("in/old")).toEqual({ "a.txt": "old" });
    expect(await stored.contents("in/album/2026")).toEqual({ "b.txt": "new" });
    const top = await make("", { upload: true });
    expect(await send("", "_headers", top.address)).toBe(403);
    expect(await send("/", "_headers", top.address)).toBe(403);
    expect(await send("album", "_headers", top.address)).toBe(201);
    // Folders of these names would keep the owner from making the file, or prove to an authority whose the host name is.
    for (const folder of ["_headers", "_Redirects/x", ".well-known/acme-challenge"])
      expect([folder, await send(folder, "a.txt", top.address)]).toEqual([folder, 403]);
    expect(await send(Array(33).fill("a").join("/"), "a.txt")).toBe(400);
  },
);

test("the page at the root is in the language of its visitor", async () => {
  await using node = await sharedNode();
  const title = async (language: string | undefined) =>
    (
      await shown(
        await fetch(node.url, { headers: language === undefined ? {} : { "accept-language": language } }),
      )
    ).title;
  expect(await title(undefined)).toBe("Node Server Is Running!");
  expect(await title("fr, de;q=0.5")).toBe("Node Server Is Running!");
  expect(await title("zh-TW")).toBe("Node Server 正在运行！");
  expect(await title("en;q=0.2, zh-Hans;q=0.8")).toBe("Node Server 正在运行！");
  expect(await title("zh;q=0, en;q=0.1")).toBe("Node Server Is Running!");
});
