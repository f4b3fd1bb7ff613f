import { expect } from "bun:test";
import { XMLValidator } from "fast-xml-parser";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { hrefsOf, webdavSite } from "../support/webdav.ts";

const sharedNode = sharedNodes();

async function placesOf(node: TestNode) {
  const site = await webdavSite(node);
  const stored = storedFiles(node);
  return {
    ...site,
    stored,
    names: () => stored.paths(),
    status: async (verb: string, path: string, to?: string, body?: string) =>
      (await site.dav(verb, path, to === undefined ? {} : { destination: site.base + to }, body)).status,
  };
}

eachStore(
  "a folder goes neither into its own child, nor onto itself, nor onto a folder above it, and nothing is made",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, status, names, base } = await placesOf(node);
    for (const path of ["/a", "/a/b", "/a/b/c"]) await dav("MKCOL", path);
    await dav("PUT", "/a/f.txt", {}, "words");
    await dav("PUT", "/a/b/g.txt", {}, "words");
    const before = await names();
    const places = [
      ["/a", "/a/x"],
      ["/a/", "/a/b/x/"],
      ["/a", "/a/b"],
      ["/a", "/a/b/c"],
      ["/a", "/a"],
      ["/a/", "/a"],
      ["/a", "//a//"],
      ["/a/b", "/a"],
      ["/a/b/c", "/a"],
      ["/a/f.txt", "/a"],
      ["/a/f.txt", "/a/f.txt"],
      ["/a", ""],
      ["/", "/a"],
      ["", "/x"],
      ["/a", "/%61/x"],
    ] as const;
    for (const [from, to] of places)
      for (const verb of ["COPY", "MOVE"])
        for (const overwrite of ["T", "F"]) {
          const response = await dav(verb, from, { destination: base + to, overwrite });
          expect([verb, from, to, response.status]).toEqual([verb, from, to, 403]);
        }
    for (const [from, to] of [
      ["/a", "/a/x"],
      ["/a", "/a"],
    ] as const)
      expect((await dav("COPY", from, { destination: base + to, depth: "0" })).status).toBe(403);
    expect(await names()).toEqual(before);
    // A neighbour whose name only begins the same is no child.
    expect([await status("COPY", "/a", "/ab"), await status("MOVE", "/ab", "/a.")]).toEqual([201, 201]);
  },
);

eachStore(
  "of many who make the same folder at the same moment one succeeds, and the others hear that it is there",
  async (store) => {
    await using node = await sharedNode(store);
    const { status } = await placesOf(node);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => status("MKCOL", `/folder-${round}`)),
      );
      expect(answers.sort()).toEqual([201, ...Array.from({ length: 9 }, () => 405)]);
    }
  },
);

eachStore(
  "the same folder by its other Unicode form is still itself: nothing is copied or moved into it",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, status, names } = await placesOf(node);
    const [nfc, nfd] = ["é", "é"].map(
      (name, at) => `/${encodeURIComponent(name.normalize(at === 0 ? "NFC" : "NFD"))}`,
    );
    await dav("MKCOL", nfc ?? "");
    await dav("PUT", `${nfc}/a.txt`, {}, "words");
    const before = await names();
    for (const verb of ["COPY", "MOVE"])
      for (const to of [`${nfd}/x`, nfd ?? "", `${nfd}/a.txt`])
        expect([verb, to, await status(verb, nfc ?? "", to), await names()]).toEqual([verb, to, 403, before]);
  },
);

eachStore(
  "a name is found in its other Unicode form by every verb, and no twin is made beside it",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, status, names, base } = await placesOf(node);
    const forms = [(name: string) => name.normalize("NFC"), (name: string) => name.normalize("NFD")];
    for (const [made, asked] of [forms, [...forms].reverse()] as const) {
      if (made === undefined || asked === undefined) throw new Error("there are two forms");
      const at = (form: typeof made, ...parts: string[]) =>
        parts.map((part) => `/${encodeURIComponent(form(part))}`).join("");
      await dav("MKCOL", at(made, "Møller é"));
      await dav("PUT", at(made, "Møller é", "Ångström.txt"), {}, "old");
      const file = at(asked, "Møller é", "Ångström.txt");
      expect(file).not.toBe(at(made, "Møller é", "Ångström.txt"));
      expect(await (await dav("GET", file)).text()).toBe("old");
      const listing = await (await dav("PROPFIND", at(asked, "Møller é"), { depth: "1" })).text();
      expect(
        hrefsOf(listing).map(
          (href) => base.replace(node.url, "") && href?.replace(`/node/static-webdav/${node.bucket}`, ""),
        ),
      ).toEqual([`${at(made, "Møller é")}/`, at(made, "Møller é", "Ångström.txt")]);
      expect([
        await status("PUT", file, undefined, "new"),
        await status("MKCOL", at(asked, "Møller é")),
      ]).toEqual([204, 405]);
      expect((await dav("PUT", file, { "if-none-match": "*" }, "bad")).status).toBe(412);
      const update =
        '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">kept</x></prop></set></propertyupdate>';
      expect(await status("PROPPATCH", file, undefined, update)).toBe(207);
      expect(
        await (await dav("PROPFIND", at(made, "Møller é", "Ångström.txt"), { depth: "0" })).text(),
      ).toContain("kept");
      const lockinfo =
        '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
      const token = (await dav("LOCK", file, {}, lockinfo)).headers.get("lock-token") ?? "";
      expect(await status("PUT", at(made, "Møller é", "Ångström.txt"), undefined, "bad")).toBe(423);
      expect(
        (await dav("UNLOCK", at(made, "Møller é", "Ångström.txt"), { "lock-token": token })).status,
      ).toBe(204);
      // A new file in a folder named in the other form joins the folder that is there.
      expect(await status("PUT", at(asked, "Møller é", "b"), undefined, "b")).toBe(201);
      expect(await status("COPY", file, at(asked, "Møller é", "c"))).toBe(201);
      expect(await status("MOVE", file, at(asked, "Møller é", "d"))).toBe(201);
      const [folder] = [made("Møller é")];
      expect(await names()).toEqual([folder, `${folder}/b`, `${folder}/c`, `${folder}/d`]);
      expect(await status("DELETE", at(asked, "Møller é"))).toBe(204);
      expect(await names()).toEqual([]);
    }
  },
);

eachStore(
  "a client's own times are kept: X-OC-Mtime on PUT and MKCOL, and the times that Windows sets",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, stored } = await placesOf(node);
    const seconds = 1_000_000_000;
    const timeOf = async (path: string) => (await stored.stats(path.replace(/^\//, ""))).modifiedMs / 1000;
    for (const [verb, path, body] of [
      ["PUT", "/a.txt", "one"],
      ["PUT", "/a.txt", "two"],
      ["MKCOL", "/d", undefined],
    ] as const) {
      const { headers, status } = await dav(verb, path, { "x-oc-mtime": String(seconds) }, body);
      expect([verb, status < 300, headers.get("x-oc-mtime"), await timeOf(path)]).toEqual([
        verb,
        true,
        "accepted",
        seconds,
      ]);
    }
    const listed = await (await dav("PROPFIND", "/a.txt", { depth: "0" })).text();
    expect(listed).toContain(new Date(seconds * 1000).toUTCString());
    for (const odd of ["", "soon", "NaN", "1e400", "-", "-62135596801", "253402300800"]) {
      const { headers, status } = await dav("PUT", "/odd.txt", { "x-oc-mtime": odd }, "words");
      expect([odd, status, headers.get("x-oc-mtime")]).toEqual([odd, 400, null]);
    }
    const windows = (modified: string) =>
      `<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop><Z:Win32CreationTime>Mon, 01 Jan 2001 00:00:00 GMT</Z:Win32CreationTime><Z:Win32LastAccessTime>Tue, 02 Jan 2001 00:00:00 GMT</Z:Win32LastAccessTime><Z:Win32LastModifiedTime>${modified}</Z:Win32LastModifiedTime><Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>`;
    for (const path of ["/a.txt", "/d", "/"]) {
      const answer = await dav("PROPPATCH", path, {}, windows("Wed, 03 Jan 2001 10:00:00 GMT"));
      const text = await answer.text();
      expect([path, answer.status, [...new Set(text.match(/HTTP\/1\.1 \d+ \w+/g))]]).toEqual([
        path,
        207,
        ["HTTP/1.1 200 OK"],
      ]);
      expect(await timeOf(path)).toBe(Date.UTC(2001, 0, 3, 10) / 1000);
    }
    // A time that is none changes nothing, and nothing else of the same request either.
    const refused = await (await dav("PROPPATCH", "/a.txt", {}, windows("yesterday"))).text();
    expect([refused.includes(" 200 OK"), refused.includes("424"), await timeOf("a.txt")]).toEqual([
      false,
      true,
      Date.UTC(2001, 0, 3, 10) / 1000,
    ]);
  },
);

eachStore(
  "a listing of hundreds of files is whole and well-formed, with or without a content type, whatever it claims to be",
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const { dav, stored } = await placesOf(node);
    // More than two of the batches that a folder is read in.
    const names = Array.from({ length: 300 }, (_, number) => `file & ${number}.txt`);
    await stored.write(Object.fromEntries(names.map((name, number) => [name, "x".repeat(number % 7)])));
    const body =
      '<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';
    for (const type of [
      undefined,
      "text/xml",
      "application/xml",
      "text/plain",
      "application/x-www-form-urlencoded",
      "nonsense",
    ]) {
      const bytes = Uint8Array.from(Buffer.from(body));
      const response = await dav(
        "PROPFIND",
        "/",
        { depth: "1", ...(type === undefined ? {} : { "content-type": type }) },
        bytes,
      );
      const text = await response.text();
      expect([type, response.status, XMLValidator.validate(text)]).toEqual([type, 207, true]);
      const hrefs = [...text.matchAll(/<D:href>([^<]*)<\/D:href>/g)].map(([, href = ""]) =>
        decodeURIComponent(href.slice(href.lastIndexOf("/") + 1)),
      );
      expect(hrefs.sort()).toEqual(["", ...names].sort());
      expect(text.match(/<D:getcontentlength>\d+</g)).toHaveLength(names.length);
    }
  },
);

eachStore(
  "the locks in a folder that is replaced are gone with it, and stand in nobody's way",
  async (store) => {
    await using node = await sharedNode(store);
    const { dav, status, base, names } = await placesOf(node);
    const lockinfo =
      '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    for (const verb of ["COPY", "MOVE"]) {
      await dav("MKCOL", "/folder");
      await dav("PUT", "/folder/x", {}, "x");
      await dav("PUT", "/file", {}, "f");
      const token = (await dav("LOCK", "/folder/x", { depth: "0" }, lockinfo)).headers.get("lock-token");
      const headers = { destination: `${base}/folder`, if: `<${base}/folder/x> (${token})` };
      expect([verb, (await dav(verb, "/file", headers)).status]).toEqual([verb, 204]);
      expect([verb, await status("DELETE", "/folder")]).toEqual([verb, 204]);
      await dav("DELETE", "/file");
    }
    expect(await names()).toEqual([]);
  },
);
