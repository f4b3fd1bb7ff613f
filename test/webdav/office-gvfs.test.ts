import { expect } from "bun:test";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";

const sharedNode = sharedNodes();

const rights = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
const lockinfo = (owner: string) =>
  `<?xml version="1.0" encoding="utf-8" ?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href>${owner}</D:href></D:owner></D:lockinfo>`;

/** A client with a token of its own. */
async function client(node: TestNode, agent: string) {
  const token = await node.newToken([{ scopes: [{ static_bucket: node.bucket }], permissions: rights }]);
  const ask = (verb: string, name: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(`${node.url}/node/static-webdav/${node.bucket}${name}`, {
      method: verb,
      headers: { authorization: `Basic ${btoa(token)}`, "user-agent": agent, ...headers },
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
    });
  const status = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;
  const lock = async (name: string, owner: string, seconds = 3600) => {
    const response = await ask("LOCK", name, { timeout: `Second-${seconds}`, depth: "0" }, lockinfo(owner));
    return {
      status: response.status,
      token: response.headers.get("lock-token") ?? "",
      text: await response.text(),
    };
  };
  return { ask, status, lock };
}

const office = "Microsoft Office Word 2014";

eachStore(
  "Microsoft Office locks a document, saves by way of a temporary file, and keeps its lock until it closes",
  async (store) => {
    await using node = await sharedNode(store);
    await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
    const stored = storedFiles(node);
    const [anna, bo] = [await client(node, office), await client(node, office)];
    await anna.ask("PUT", "/Plan.docx", {}, "version 1");
    expect(
      (await anna.ask("OPTIONS", "/", { "x-office-version": "16.0" })).headers.get("ms-author-via"),
    ).toBe("DAV");
    expect(await anna.status("HEAD", "/Plan.docx")).toBe(200);
    const held = await anna.lock("/Plan.docx", "Anna");
    expect(held.status).toBe(200);
    const opened = await anna.ask("GET", "/Plan.docx", { if: `(${held.token})` });
    expect([opened.status, await opened.text()]).toEqual([200, "version 1"]);

    // Who comes second hears which document is locked, may read it, and changes nothing.
    const second = await bo.lock("/Plan.docx", "Bo");
    expect([second.status, second.token]).toEqual([423, ""]);
    expect(second.text).toMatch(
      new RegExp(
        `<D:no-conflicting-lock>.*/node/static-webdav/${node.bucket}/Plan.docx.*</D:no-conflicting-lock>`,
      ),
    );
    const refused = await bo.ask("PUT", "/Plan.docx", {}, "bo's");
    expect([refused.status, await refused.text()]).toEqual([
      423,
      expect.stringMatching(
        new RegExp(
          `<D:lock-token-submitted>.*/node/static-webdav/${node.bucket}/Plan.docx.*</D:lock-token-submitted>`,
        ),
      ),
    ]);
    const who = await (
      await bo.ask(
        "PROPFIND",
        "/Plan.docx",
        { depth: "0" },
        '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>',
      )
    ).text();
    expect([who.includes(">Anna<"), who.includes(held.token.slice(1, -1))]).toEqual([true, true]);
    // A token is good only in the hands of who took the lock.
    const stolen = { if: `(${held.token})` };
    expect([
      await bo.status("PUT", "/Plan.docx", stolen, "bo's"),
      await bo.status("DELETE", "/Plan.docx", stolen),
    ]).toEqual([423, 423]);
    expect([403, 409, 423]).toContain(await bo.status("UNLOCK", "/Plan.docx", { "lock-token": held.token }));
    expect(await (await bo.ask("GET", "/Plan.docx")).text()).toBe("version 1");

    // Its owner file, and the lock renewed while the user thinks.
    expect(await anna.status("PUT", "/~$Plan.docx", {}, "\x04Anna")).toBe(201);
    for (let minute = 0; minute < 3; minute += 1) {
      const renewed = await anna.ask("LOCK", "/Plan.docx", { if: `(${held.token})`, timeout: "Second-7200" });
      const text = await renewed.text();
      expect([renewed.status, text.includes(held.token.slice(1, -1)), /Second-7[12]\d\d/.test(text)]).toEqual(
        [200, true, true],
      );
    }
    expect(
      await anna.status("LOCK", "/Plan.docx", { if: "(<urn:uuid:00000000-0000-4000-8000-000000000000>)" }),
    ).toBe(412);

    // Save: a temporary file, then over the locked one, whose token is shown in a tagged list.
    for (const [version, tag] of [
      ["version 2", `${node.url}/node/static-webdav/${node.bucket}/Plan.docx`],
      ["version 3", `/node/static-webdav/${node.bucket}/Plan.docx`],
    ]) {
      expect(await anna.status("PUT", "/~WRD0001.tmp", {}, version)).toBe(201);
      const to = { destination: `${node.url}/node/static-webdav/${node.bucket}/Plan.docx`, overwrite: "T" };
      expect(await anna.status("MOVE", "/~WRD0001.tmp", to)).toBe(423);
      expect(await anna.status("MOVE", "/~WRD0001.tmp", { ...to, if: `<${tag}> (<urn:uuid:wrong>)` })).toBe(
        412,
      );
      expect(await bo.status("MOVE", "/~WRD0001.tmp", { ...to, if: `<${tag}> (${held.token})` })).toBe(423);
      expect(await anna.status("MOVE", "/~WRD0001.tmp", { ...to, if: `<${tag}> (${held.token})` })).toBe(204);
      expect(await stored.text("Plan.docx")).toBe(version ?? "");
      // The document is still hers.
      expect(await bo.status("PUT", "/Plan.docx", {}, "bo's")).toBe(423);
    }
    // Or in place, as smaller programs do, with the tag it knows.
    const etag = (await anna.ask("HEAD", "/Plan.docx")).headers.get("etag") ?? "";
    expect(await anna.status("PUT", "/Plan.docx", { if: `(${held.token} ["stale"])` }, "bad")).toBe(412);
    expect(await anna.status("PUT", "/Plan.docx", { if: `(${held.token} [${etag}])` }, "version 4")).toBe(
      204,
    );
    expect(await anna.status("DELETE", "/~$Plan.docx")).toBe(204);
    expect(await anna.status("UNLOCK", "/Plan.docx", { "lock-token": held.token })).toBe(204);

    // Now it is Bo's turn.
    const mine = await bo.lock("/Plan.docx", "Bo");
    expect([mine.status, await bo.status("PUT", "/Plan.docx", { if: `(${mine.token})` }, "bo's")]).toEqual([
      200, 204,
    ]);
    expect(await anna.status("PUT", "/Plan.docx", { if: `(${held.token})` }, "late")).toBe(412);
    expect(await bo.status("UNLOCK", "/Plan.docx", { "lock-token": mine.token })).toBe(204);
    expect([await stored.names(), await stored.text("Plan.docx")]).toEqual([["Plan.docx"], "bo's"]);
  },
);

eachStore(
  "a document that Office makes and saves by stepping aside keeps its content at every step",
  async (store) => {
    await using node = await sharedNode(store);
    await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
    const stored = storedFiles(node);
    const { status, lock } = await client(node, office);
    const made = await lock("/New.xlsx", "Anna");
    expect([made.status, await status("PUT", "/New.xlsx", { if: `(${made.token})` }, "one")]).toEqual([
      201, 204,
    ]);
    // Excel: the new content under a name of eight digits, the old one aside, the new one in place, the old one gone.
    expect(await status("PUT", "/5F3A0000", {}, "two")).toBe(201);
    const url = `${node.url}/node/static-webdav/${node.bucket}`;
    const old = { destination: `${url}/8C1B.tmp`, overwrite: "F" };
    expect(await status("MOVE", "/New.xlsx", old)).toBe(423);
    expect(await status("MOVE", "/New.xlsx", { ...old, if: `(${made.token})` })).toBe(201);
    expect(await status("MOVE", "/5F3A0000", { destination: `${url}/New.xlsx`, overwrite: "F" })).toBe(201);
    expect(await stored.text("New.xlsx")).toBe("two");
    expect(await status("DELETE", "/8C1B.tmp")).toBe(204);
    // RFC 4918 §7.6: a lock does not move along, and is gone with the name it was on.
    expect(await status("UNLOCK", "/New.xlsx", { "lock-token": made.token })).toBe(409);
    expect(await status("PUT", "/New.xlsx", {}, "three")).toBe(204);
    expect(await stored.names()).toEqual(["New.xlsx"]);
  },
);

eachStore(
  "GNOME's gvfs mounts a bucket, looks around, copies, renames without overwriting, and moves to no trash",
  async (store) => {
    await using node = await sharedNode(store);
    await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
    const stored = storedFiles(node);
    const { ask, status } = await client(node, "gvfs/1.54.4");
    const query =
      '<?xml version="1.0" encoding="utf-8" ?>\n<D:propfind xmlns:D="DAV:">\n <D:prop>\n<D:resourcetype/>\n<D:getcontentlength/>\n<D:getetag/>\n<D:getcontenttype/>\n<D:displayname/>\n<D:creationdate/>\n<D:getlastmodified/>\n </D:prop>\n</D:propfind>';
    const xml = { "content-type": "application/xml", "apply-to-redirect-ref": "T" };
    expect((await ask("OPTIONS", "/")).headers.get("dav")).toContain("1");
    expect([await status("HEAD", "/"), await status("HEAD", "")]).toEqual([200, 200]);
    expect(await status("PROPFIND", "/", { ...xml, depth: "0" }, query)).toBe(207);
    const free =
      '<D:propfind xmlns:D="DAV:"><D:prop><D:quota-available-bytes/><D:quota-used-bytes/></D:prop></D:propfind>';
    expect(await (await ask("PROPFIND", "/", { ...xml, depth: "0" }, free)).text()).toMatch(
      /<D:quota-used-bytes>\d+</,
    );

    expect([
      await status("HEAD", "/dokument%20%231.txt"),
      await status("PROPFIND", "/dokument%20%231.txt", { ...xml, depth: "0" }, query),
    ]).toEqual([404, 404]);
    const put = await ask("PUT", "/dokument%20%231.txt", { "if-none-match": "*" }, "words");
    expect(put.status).toBe(201);
    const etag = put.headers.get("etag") ?? "";
    const listing = await (await ask("PROPFIND", "/", { ...xml, depth: "1" }, query)).text();
    for (const part of [
      `<D:href>/node/static-webdav/${node.bucket}/</D:href>`,
      `<D:href>/node/static-webdav/${node.bucket}/dokument%20%231.txt</D:href>`,
      "<D:displayname>dokument #1.txt</D:displayname>",
      "<D:getcontentlength>5</D:getcontentlength>",
    ])
      expect(listing).toContain(part);
    // A replacement is only for the version that gvfs saw.
    expect(await status("PUT", "/dokument%20%231.txt", { "if-match": etag }, "words 2")).toBe(204);
    expect(await status("PUT", "/dokument%20%231.txt", { "if-match": etag }, "words 3")).toBe(412);

    const url = `${node.url}/node/static-webdav/${node.bucket}`;
    expect(await status("MKCOL", "/mappe/")).toBe(201);
    expect(
      await status("COPY", "/dokument%20%231.txt", {
        destination: `${url}/mappe/kopi.txt`,
        overwrite: "F",
        depth: "infinity",
      }),
    ).toBe(201);
    expect(
      await status("MOVE", "/dokument%20%231.txt", { destination: `${url}/mappe/kopi.txt`, overwrite: "F" }),
    ).toBe(412);
    expect(await status("MOVE", "/mappe/", { destination: `${url}/mappe%202/`, overwrite: "F" })).toBe(201);
    expect(
      await status("MOVE", "/mappe%202", { destination: `${url}/dokument%20%231.txt`, overwrite: "F" }),
    ).toBe(412);
    expect(
      await status("MOVE", "/dokument%20%231.txt", { destination: `${url}/none/x`, overwrite: "F" }),
    ).toBe(409);
    expect(await stored.text("dokument #1.txt")).toBe("words 2");
    for (const name of ["/mappe%202/", "/dokument%20%231.txt"])
      expect(await status("DELETE", name)).toBe(204);
    expect(await stored.names()).toEqual([]);
  },
);
