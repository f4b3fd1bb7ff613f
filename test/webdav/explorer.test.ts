import { expect } from "bun:test";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { storedFiles } from "../support/stored-site.ts";

const rights = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
const everyHeader = {
  "user-agent": "Microsoft-WebDAV-MiniRedir/10.0.19045",
  translate: "f",
  connection: "Keep-Alive",
  pragma: "no-cache",
  "cache-control": "no-cache",
};
const win32 = (attributes: string) =>
  `<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop><Z:Win32CreationTime>Tue, 05 Mar 2024 10:00:00 GMT</Z:Win32CreationTime><Z:Win32LastAccessTime>Wed, 06 Mar 2024 10:00:00 GMT</Z:Win32LastAccessTime><Z:Win32LastModifiedTime>Thu, 07 Mar 2024 10:00:00 GMT</Z:Win32LastModifiedTime><Z:Win32FileAttributes>${attributes}</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>`;
const lockinfo =
  '<?xml version="1.0" encoding="utf-8" ?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href>OFFICE\\Anna &amp; Bo</D:href></D:owner></D:lockinfo>';

/** The mini-redirector: it asks without credentials, hears 401, and asks again with them on the same connection. */
async function explorer(node: TestNode) {
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const limit = [{ scopes: [{ static_bucket: "site" }], permissions: rights }];
  await node.newToken(limit, { username: "anna", password: "pass:wörd" });
  const authorization = `Basic ${Buffer.from("anna:pass:wörd").toString("base64")}`;
  let knows = false;
  return async (
    verb: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Uint8Array<ArrayBuffer>,
  ) => {
    const send = (more: Record<string, string>) =>
      fetch(node.url + path, {
        method: verb,
        headers: { ...everyHeader, ...headers, ...more },
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      });
    if (!knows && verb !== "OPTIONS") {
      const refused = await send({});
      expect([verb, path, refused.status, refused.headers.get("www-authenticate")]).toEqual([
        verb,
        path,
        401,
        'Basic realm="Node Static WebDAV", charset="UTF-8"',
      ]);
      knows = true;
    }
    return send(knows ? { authorization } : {});
  };
}

eachStore(
  "Windows Explorer mounts a bucket, copies a file in, renames it, opens it and deletes it",
  async (store) => {
    await using node = await testNode(store);
    const ask = await explorer(node);
    const stored = storedFiles(node);
    const site = "/node/static-webdav/site";
    const expectStatus = async (status: number, ...request: Parameters<typeof ask>) => {
      const response = await ask(...request);
      const text = await response.text();
      expect([...request.slice(0, 2), response.status]).toEqual([...request.slice(0, 2), status]);
      return { text, headers: response.headers };
    };

    // "Map network drive": the root first, then every folder on the way, all without credentials.
    for (const path of ["/", "/node", "/node/static-webdav", site]) {
      const { status, headers } = await ask("OPTIONS", path);
      if (path === "/node") continue;
      expect([
        path,
        status < 300,
        headers.get("ms-author-via"),
        headers.get("dav")?.split(", ").includes("2"),
      ]).toEqual([path, true, "DAV", true]);
      for (const verb of ["PROPFIND", "LOCK", "PUT"])
        expect(headers.get("allow")?.split(", ")).toContain(verb);
    }
    const mounted = await expectStatus(207, "PROPFIND", site, { depth: "0", "content-length": "0" });
    expect(mounted.text).toContain(`<D:href>${site}/</D:href>`);
    expect(mounted.text).toContain("<D:collection/>");
    for (const name of ["desktop.ini", "Desktop.ini", "folder.jpg", "Thumbs.db", "AutoRun.inf"])
      await expectStatus(404, "PROPFIND", `${site}/${name}`, { depth: "0" });
    await expectStatus(207, "PROPFIND", site, { depth: "1" });

    // Copy "Årsrapport 2024.docx" in: empty, locked, described, filled, described again, unlocked.
    const file = `${site}/${encodeURIComponent("Årsrapport 2024.docx")}`;
    await expectStatus(404, "PROPFIND", file, { depth: "0" });
    await expectStatus(201, "PUT", file, { "content-length": "0" }, "");
    expect((await stored.stats("Årsrapport 2024.docx")).size).toBe(0);
    const locked = await expectStatus(
      200,
      "LOCK",
      file,
      { timeout: "Second-3600", "content-type": 'text/xml; charset="utf-8"' },
      lockinfo,
    );
    const token = locked.headers.get("lock-token") ?? "";
    expect(token).toMatch(/^<[a-z]+:[^<>]+>$/);
    expect(locked.text).toContain("<D:timeout>Second-3600</D:timeout>");
    expect(locked.text).toMatch(/<D:owner>.*OFFICE\\Anna &amp; Bo.*<\/D:owner>/);
    expect(locked.text).toContain(token.slice(1, -1));
    const shown = { if: `(${token})` };
    const described = await expectStatus(
      207,
      "PROPPATCH",
      file,
      { ...shown, "content-type": 'text/xml; charset="utf-8"' },
      win32("00000000"),
    );
    expect([...new Set(described.text.match(/HTTP\/1\.1 \d+/g))]).toEqual(["HTTP/1.1 200"]);
    await expectStatus(200, "HEAD", file);
    const content = Uint8Array.from({ length: 300_000 }, (_, at) => at % 251);
    await expectStatus(423, "PUT", file, {}, content);
    await expectStatus(204, "PUT", file, shown, content);
    await expectStatus(423, "PROPPATCH", file, {}, win32("00000020"));
    await expectStatus(207, "PROPPATCH", file, shown, win32("00000020"));
    const modified = Date.UTC(2024, 2, 7, 10);
    expect((await stored.stats("Årsrapport 2024.docx")).modifiedMs).toBe(modified);
    await expectStatus(204, "UNLOCK", file, { "lock-token": token });

    // What it set is what it finds again, and its own copy is compared by length and time.
    const found = (await expectStatus(207, "PROPFIND", file, { depth: "0" })).text;
    expect(found).toContain("<D:getcontentlength>300000</D:getcontentlength>");
    expect(found).toContain(`<D:getlastmodified>${new Date(modified).toUTCString()}</D:getlastmodified>`);
    expect(found).toMatch(/Win32FileAttributes[^>]*>00000020</);
    expect(found).toMatch(/Win32CreationTime[^>]*>Tue, 05 Mar 2024 10:00:00 GMT</);
    const head = await expectStatus(200, "HEAD", file);
    expect([head.headers.get("content-length"), head.headers.get("last-modified")]).toEqual([
      "300000",
      new Date(modified).toUTCString(),
    ]);
    const opened = await ask("GET", file);
    expect(Buffer.from(await opened.arrayBuffer()).equals(Buffer.from(content))).toBe(true);

    // "New folder", then its real name, then the file moves into it under a new name.
    const fresh = `${site}/New%20folder`;
    await expectStatus(404, "PROPFIND", fresh, { depth: "0" });
    await expectStatus(201, "MKCOL", fresh);
    await expectStatus(207, "PROPPATCH", fresh, {}, win32("00000010"));
    await expectStatus(404, "PROPFIND", `${site}/Rapporter`, { depth: "0" });
    await expectStatus(201, "MOVE", fresh, { destination: `${node.url}${site}/Rapporter`, overwrite: "F" });
    await expectStatus(201, "MOVE", file, {
      destination: `${node.url}${site}/Rapporter/2024.docx`,
      overwrite: "F",
    });
    await expectStatus(412, "MOVE", `${site}/Rapporter`, {
      destination: `${node.url}${site}/Rapporter%20II`,
      overwrite: "F",
      "if-match": '"old"',
    });
    const moved = (await expectStatus(207, "PROPFIND", `${site}/Rapporter`, { depth: "1" })).text;
    expect(moved.match(/Win32FileAttributes[^>]*>(\d+)</g)?.map((text) => text.slice(-9, -1))).toEqual([
      "00000010",
      "00000020",
    ]);
    expect((await stored.text("Rapporter/2024.docx")) === Buffer.from(content).toString()).toBe(true);

    // A name that is taken: Explorer asks its user because of the 412, and only then replaces.
    await expectStatus(201, "PUT", `${site}/other.docx`, {}, "other");
    const onto = { destination: `${node.url}${site}/Rapporter/2024.docx` };
    await expectStatus(412, "MOVE", `${site}/other.docx`, { ...onto, overwrite: "F" });
    expect((await stored.stats("Rapporter/2024.docx")).size).toBe(300_000);
    await expectStatus(204, "MOVE", `${site}/other.docx`, { ...onto, overwrite: "T" });
    const replaced = (await expectStatus(207, "PROPFIND", `${site}/Rapporter/2024.docx`, { depth: "0" }))
      .text;
    expect(replaced).not.toContain("Win32FileAttributes");

    await expectStatus(204, "DELETE", `${site}/Rapporter/2024.docx`);
    await expectStatus(204, "DELETE", `${site}/Rapporter`);
    await expectStatus(404, "PROPFIND", `${site}/Rapporter`, { depth: "0" });
    expect(await stored.names()).toEqual([]);
  },
);
