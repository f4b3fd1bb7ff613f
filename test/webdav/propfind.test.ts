import { expect } from "bun:test";
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { XMLValidator } from "fast-xml-parser";
import { isElement, parseXml, textOf, type XmlElement } from "../../src/base/xml.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

const elements = ({ children }: XmlElement) => children.filter(isElement);
const named = (parent: XmlElement | undefined, name: string) =>
  parent === undefined
    ? []
    : elements(parent).filter((child) => child.namespace === "DAV:" && child.name === name);

/** One resource of a multistatus: its properties by status, each under its full name. */
interface Told {
  readonly href: string;
  readonly found: Record<string, XmlElement>;
  readonly missing: string[];
}

/** A multistatus, well-formed by the word of two parsers. */
async function multistatus(response: Response): Promise<Told[]> {
  const text = await response.text();
  expect([response.status, text.slice(0, 200)]).toEqual([207, expect.stringContaining("multistatus")]);
  expect(response.headers.get("content-type")).toMatch(/^(application|text)\/xml; ?charset="?utf-8"?$/i);
  expect(XMLValidator.validate(text)).toBe(true);
  return named(
    { namespace: "", name: "", attributes: new Map(), children: [parseXml(Buffer.from(text))] },
    "multistatus",
  )
    .flatMap((root) => named(root, "response"))
    .map((one) => {
      const told: Told = { href: textOf(named(one, "href")[0] ?? one), found: {}, missing: [] };
      for (const stat of named(one, "propstat")) {
        const status = textOf(named(stat, "status")[0] ?? stat);
        for (const property of elements(named(stat, "prop")[0] ?? stat)) {
          const full = `{${property.namespace}}${property.name}`;
          if (status === "HTTP/1.1 200 OK") told.found[full] = property;
          else {
            expect(status).toBe("HTTP/1.1 404 Not Found");
            expect(property.children).toEqual([]);
            told.missing.push(full);
          }
        }
      }
      return told;
    });
}

const live = (name: string) => `{DAV:}${name}`;
const onAll = [
  "resourcetype",
  "displayname",
  "getlastmodified",
  "creationdate",
  "supportedlock",
  "lockdiscovery",
].map(live);
const onFiles = ["getcontentlength", "getcontenttype", "getetag"].map(live);
const props = (inside: string) => `<?xml version="1.0"?><D:propfind xmlns:D="DAV:">${inside}</D:propfind>`;

eachStore(
  "prop, allprop, propname and include each tell what they are for, and what is not there is told as 404",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    const put = await dav("PUT", "/a.txt", {}, "hello");
    await dav("MKCOL", "/dir");
    const update = `<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop><x:colour xml:lang="da">rød &amp; <x:b>grøn</x:b></x:colour><plain xmlns="">p</plain></D:prop></D:set></D:propertyupdate>`;
    expect((await dav("PROPPATCH", "/a.txt", {}, update)).status).toBe(207);
    const about = async (path: string, body?: string) => {
      const [told, ...more] = await multistatus(await dav("PROPFIND", path, { depth: "0" }, body));
      expect(more).toEqual([]);
      return told as Told;
    };
    const dead = ["{urn:x}colour", "{}plain"];
    for (const body of [undefined, props("<D:allprop/>")]) {
      const all = await about("/a.txt", body);
      expect(Object.keys(all.found).sort()).toEqual([...onAll, ...onFiles, ...dead].sort());
      expect(all.missing).toEqual([]);
      const value = (name: string) => textOf(all.found[name] as XmlElement);
      const { size, modifiedMs } = await storedFiles(node).stats("a.txt");
      expect(value(live("getcontentlength"))).toBe(String(size));
      expect(value(live("getlastmodified"))).toBe(new Date(modifiedMs).toUTCString());
      expect(value(live("creationdate"))).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(value(live("displayname"))).toBe("a.txt");
      expect(value(live("getcontenttype"))).toMatch(/^text\/plain\b/);
      const plain = await fetch(`${node.url}/node/static/${node.bucket}/a.txt`, {
        headers: { "accept-encoding": "identity" },
      });
      const tags = [
        put.headers.get("etag"),
        plain.headers.get("etag"),
        (await dav("HEAD", "/a.txt")).headers.get("etag"),
      ];
      expect(value(live("getetag"))).toMatch(/^"[^"]+"$/);
      for (const tag of tags) expect(tag).toBe(value(live("getetag")));
      expect(all.found[live("resourcetype")]?.children).toEqual([]);
      expect(value("{urn:x}colour")).toBe("rød & grøn");
      expect([...(all.found["{urn:x}colour"]?.attributes.values() ?? [])]).toEqual(["da"]);
      const entries = elements(all.found[live("supportedlock")] as XmlElement);
      const scopes = entries.map((entry) => elements(named(entry, "lockscope")[0] as XmlElement)[0]?.name);
      expect(scopes).toEqual(["exclusive", "shared"]);
      expect(all.found[live("lockdiscovery")]?.children).toEqual([]);
    }
    const folder = await about("/dir");
    expect(Object.keys(folder.found).sort()).toEqual([...onAll].sort());
    expect(elements(folder.found[live("resourcetype")] as XmlElement)).toMatchObject([
      { namespace: "DAV:", name: "collection" },
    ]);
    expect((await about("/")).found[live("displayname")]?.children).toEqual([node.bucket]);

    const names = await about("/a.txt", props("<D:propname/>"));
    expect(Object.keys(names.found)).toEqual(expect.arrayContaining([...onAll, ...onFiles, ...dead]));
    expect(Object.values(names.found).flatMap(({ children }) => children)).toEqual([]);

    const some = await about(
      "/dir",
      props('<D:prop><D:getetag/><D:resourcetype/><x:colour xmlns:x="urn:x"/><getetag xmlns=""/></D:prop>'),
    );
    expect([Object.keys(some.found), some.missing.sort()]).toEqual([
      [live("resourcetype")],
      [live("getetag"), "{urn:x}colour", "{}getetag"].sort(),
    ]);

    const quota = ["quota-available-bytes", "quota-used-bytes"].map(live);
    const asked = "<D:quota-available-bytes/><D:quota-used-bytes/>";
    for (const body of [
      props(`<D:prop>${asked}</D:prop>`),
      props(`<D:allprop/><D:include>${asked}<D:no-such/></D:include>`),
    ]) {
      const { found, missing } = await about("/", body);
      for (const name of quota) expect(Number(textOf(found[name] as XmlElement))).toBeGreaterThan(0);
      expect(missing).toEqual(body.includes("no-such") ? [live("no-such")] : []);
    }
    // A prefix of any name, the default namespace, a comment, CDATA and UTF-16 say the same.
    const again = '<?xml version="1.0"?><!-- c --><propfind xmlns="DAV:"><prop><getetag/></prop></propfind>';
    expect(Object.keys((await about("/a.txt", again)).found)).toEqual([live("getetag")]);
    const wide = await dav(
      "PROPFIND",
      "/a.txt",
      { depth: "0" },
      Uint8Array.from(Buffer.from(`\ufeff${again}`, "utf16le")),
    );
    expect(Object.keys((await multistatus(wide))[0]?.found ?? {})).toEqual([live("getetag")]);
  },
);

eachStore(
  "lockdiscovery shows a lock on the file, on a folder above it, and its owner's own words",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    await dav("MKCOL", "/dir");
    await dav("PUT", "/dir/a.txt", {}, "a");
    const lockinfo =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>Anna &lt;a@b&gt;</D:owner></D:lockinfo>';
    const locked = await dav("LOCK", "/dir/", { timeout: "Second-100" }, lockinfo);
    const token = locked.headers.get("lock-token")?.slice(1, -1) ?? "";
    const body = props("<D:prop><D:lockdiscovery/></D:prop>");
    for (const { href, found } of await multistatus(await dav("PROPFIND", "/dir", { depth: "1" }, body))) {
      const [active] = elements(found[live("lockdiscovery")] as XmlElement);
      const said = Object.fromEntries(
        elements(active as XmlElement).map((part) => [part.name, textOf(part)]),
      );
      expect([href, said]).toEqual([
        href,
        expect.objectContaining({
          owner: "Anna <a@b>",
          locktoken: token,
          lockroot: `/node/static-webdav/${node.bucket}/dir/`,
          depth: "infinity",
        }),
      ]);
      expect(Number(said.timeout?.replace("Second-", ""))).toBeGreaterThan(50);
    }
    const [root] = await multistatus(await dav("PROPFIND", "/", { depth: "0" }, body));
    expect(root?.found[live("lockdiscovery")]?.children).toEqual([]);
  },
);

eachStore(
  "depth 0, 1 and infinity, given or left out, reach as far as they say; anything else is refused",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    for (const path of ["/d", "/d/e"]) await dav("MKCOL", path);
    for (const path of ["/d/1", "/d/e/2", "/d/e/3", "/4"]) await dav("PUT", path, {}, path);
    const seen = async (path: string, headers: Record<string, string>) =>
      (await multistatus(await dav("PROPFIND", path, headers)))
        .map(({ href }) => href.replace(`/node/static-webdav/${node.bucket}`, ""))
        .sort();
    for (const path of ["/d", "/d/"]) {
      expect(await seen(path, { depth: "0" })).toEqual(["/d/"]);
      expect(await seen(path, { depth: "1" })).toEqual(["/d/", "/d/1", "/d/e/"]);
      for (const headers of [{}, { depth: "infinity" }, { depth: "Infinity" }])
        expect(await seen(path, headers)).toEqual(["/d/", "/d/1", "/d/e/", "/d/e/2", "/d/e/3"]);
    }
    expect(await seen("/4", { depth: "1" })).toEqual(["/4"]);
    expect(await seen("", { depth: "0" })).toEqual(["/"]);
    for (const depth of ["2", "-1", "01", "1,noroot", "all", ""])
      expect([depth, (await dav("PROPFIND", "/d", { depth })).status]).toEqual([depth, 400]);
    for (const depth of ["0", "1", "infinity"])
      expect((await dav("PROPFIND", "/none", { depth })).status).toBe(404);
  },
);

eachStore(
  "a listing of everything below is whole up to a bound, and beyond it refused with propfind-finite-depth, never cut",
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const { base, dav } = await webdavSite(node);
    // A few files, and copies of copies of them: a thousand entries in each folder of `many`.
    const { write, contentFile } = storedFiles(node);
    const names = Array.from({ length: 99 }, (_, name) => String(name));
    await write(Object.fromEntries(names.map((name) => [`many/0/0/${name}`, ""])));
    const copy = async (from: string, to: string) =>
      expect((await dav("COPY", from, { destination: base + to })).status).toBe(201);
    for (let number = 1; number < 10; number += 1) await copy("/many/0/0/", `/many/0/${number}`);
    const fill = async (number: number) => {
      if (node.store !== "disk") return copy("/many/0/", `/many/${number}`);
      // Links to one file: a disk from which many files were deleted takes a hundred times as long for new ones.
      const first = await contentFile("many/0/0/0");
      for (let part = 0; part < 10; part += 1) {
        const folder = join(dirname(first), `../../${number}/${part}`);
        mkdirSync(folder, { recursive: true });
        for (const name of names) linkSync(first, join(folder, name));
      }
    };
    for (let number = 1; number < 5; number += 1) await fill(number);
    const body = props("<D:prop><D:resourcetype/></D:prop>");
    const all = await multistatus(await dav("PROPFIND", "/", {}, body));
    expect(new Set(all.map(({ href }) => href)).size).toBe(5007);
    for (let number = 5; number < 20; number += 1) await fill(number);
    for (const headers of [{ depth: "infinity" }, {}]) {
      const refused = await dav("PROPFIND", "/", headers, body);
      const root = parseXml(Buffer.from(await refused.text()));
      expect([
        refused.status,
        root.name,
        elements(root).map(({ namespace, name }) => namespace + name),
      ]).toEqual([403, "error", ["DAV:propfind-finite-depth"]]);
    }
    expect(await multistatus(await dav("PROPFIND", "/many/19", {}, body))).toHaveLength(1001);
    expect(await multistatus(await dav("PROPFIND", "/many", { depth: "1" }, body))).toHaveLength(21);
  },
);

eachStore(
  "any name that a disk can hold is listed in well-formed XML, under an address that leads back to it",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav } = await webdavSite(node);
    const files = storedFiles(node);
    const plain =
      '100% %41 a#b a?b a&b <b> "q" it\'s a+b a;b=c [x] é e\u0301 密碼 🔑 ab:c ~tilde !*() ]]> ..a a.. CON .x';
    const unseen = ["a b", " lead", "trail ", "\u202eevil", "\x7f\x85", "\u2028"];
    const unwritable = ["\x01\x02", "tab\tnew\nline\rcr", "\x1b[31m", "\ufffe\uffff"];
    // The server takes both forms of a letter for one name; only another program can write both.
    const isOwn = (name: string) => node.store === "disk" || name === name.normalize("NFC");
    const names = [...plain.split(" "), ...unseen, ...unwritable].filter(isOwn);
    await files.write(Object.fromEntries(names.map((name) => [name, name])));
    await files.makeFolder("fold & er");
    // A name that is no UTF-8 has no address: it is passed over, and the rest is told.
    const folder = Buffer.from(`${join(node.folder, "static", node.bucket)}/`);
    if (node.store === "disk") writeFileSync(Buffer.concat([folder, Buffer.from([0x62, 0xff, 0xfe])]), "x");
    for (const depth of ["1", "infinity"]) {
      const told = await multistatus(await dav("PROPFIND", "/", { depth }));
      const hrefs = told.map(({ href }) => href);
      const rest = hrefs
        .map((href) => decodeURIComponent(href.replace(`/node/static-webdav/${node.bucket}/`, "")))
        .sort();
      expect(rest).toEqual(["", "fold & er/", ...names].sort());
      for (const href of hrefs) {
        expect(href).toStartWith(`/node/static-webdav/${node.bucket}/`);
        expect(href).toMatch(/^\/(?:[A-Za-z0-9\-._~!*'()/]|%[0-9A-F]{2})*$/);
        if (href.endsWith("/")) continue;
        const back = await fetch(node.url + href, {
          headers: { authorization: `Basic ${btoa(node.superToken)}` },
        });
        expect([href, await back.text()]).toEqual([
          href,
          decodeURIComponent(href.slice(href.lastIndexOf("/") + 1)),
        ]);
      }
      const shown = told.map(({ found }) => textOf(found[live("displayname")] as XmlElement));
      expect(shown).toEqual(
        expect.arrayContaining([...plain.split(" ").filter(isOwn), ...unseen, "tab\tnew\nline\rcr"]),
      );
    }
  },
);
